"""Compare or rewrite ``tests/names.txt``: pytest provides the database and the Redis that this needs."""

import argparse
import os
import subprocess
import sys

from tests.support.names import FILE, WRITE

TEST = "tests/test_names.py"


def main() -> int:
    """Run the test, in the mode that was asked for. Returns pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.names", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the file after a change that is meant")
    is_writing = parser.parse_args().write
    recorded = FILE.read_text(encoding="utf-8")
    if is_writing:
        FILE.write_text("", encoding="utf-8")  # sections that are gone disappear
    env = {**os.environ, WRITE: "1" if is_writing else ""}
    code = subprocess.run([sys.executable, "-m", "pytest", "-q", TEST], env=env, check=False).returncode
    if code and is_writing:
        FILE.write_text(recorded, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
