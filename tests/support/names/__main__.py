"""Compare or rewrite ``tests/names.txt``. Runs under pytest, which provides a database and a Redis."""

import argparse
import os
import signal
import subprocess
import sys

from tests.support.names import FILE, WRITE

TEST = "tests/test_names.py"


def main() -> int:
    """Run the test in the chosen mode and return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.names", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the file after an intended change")
    is_writing = parser.parse_args().write
    recorded = FILE.read_text(encoding="utf-8")
    if is_writing:
        FILE.write_text("", encoding="utf-8")  # removes sections that no collector returns
    env = {**os.environ, WRITE: "1" if is_writing else ""}
    signal.signal(signal.SIGTERM, lambda *args: sys.exit(143))
    code = 1
    try:
        code = subprocess.run([sys.executable, "-m", "pytest", "-q", TEST], env=env, check=False).returncode
    finally:
        if code and is_writing:
            FILE.write_text(recorded, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
