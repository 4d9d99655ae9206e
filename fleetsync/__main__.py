"""Start the command line: `python -m fleetsync` and the `fleetsync` script."""

import sys


def main() -> int:
    """Run the command line on this process's arguments and return its exit code."""
    from fleetsync.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
