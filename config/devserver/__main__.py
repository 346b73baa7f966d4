"""``python -m config.devserver up|demo``."""

import argparse
import os
import sys

from config.devserver import demo_env


def main() -> int:
    """Run the command line, and return the exit code."""
    demo_env.provide_environment(os.environ.get("PORT") or "8000")
    from config.devserver.runner import CannotRun, run_site  # it reads the settings

    parser = argparse.ArgumentParser(prog="python -m config.devserver", description=__doc__)
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
