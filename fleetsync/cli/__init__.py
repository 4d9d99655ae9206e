"""The command line: parse, call, print, exit code. The only place that prints."""
