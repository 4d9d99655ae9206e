"""Helpers of the fault tests: a host that is a shell, a world of files, a driver."""
