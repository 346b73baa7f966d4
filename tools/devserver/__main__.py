"""``python -m tools.devserver up|demo``."""

import argparse
import os
import sys

from demo import environment


def main() -> int:
    """Run the command line, and return the exit code."""
    environment.provide_environment(os.environ.get("PORT") or "8000")
    from tools.devserver.runner import CannotRun, run_site  # it reads the settings

    parser = argparse.ArgumentParser(prog="python -m tools.devserver", description=__doc__)
    parser.add_argument("what", choices=["up", "demo"], help="demo: with demo data and logins")
    what = parser.parse_args().what
    try:
        return run_site(demo=what == "demo")
    except CannotRun as error:
        print(f"diptych: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
