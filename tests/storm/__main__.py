"""Run a storm: ``python -m tests.storm [--minutes 3] [--seed S] [--on postgres] [--redis cluster]``.

See ``docs/reliability.md``.
"""

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

import django

from tests.storm.stack import Stack


def main() -> int:
    """Run a storm. Return 1 after a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description="The whole site under faults.")
    parser.add_argument("--minutes", type=float, default=3.0, help="time for the faults (3)")
    parser.add_argument("--seed", default="1", help="determines the script of faults (1)")
    parser.add_argument("--on", choices=["sqlite", "postgres"], default="sqlite", help="which database (sqlite)")
    parser.add_argument(
        "--redis", choices=["single", "cluster"], default="single", help="servers of the state (single)"
    )
    parser.add_argument("--small", action="store_true", help="fewer people, books and processes")
    parser.add_argument("--calm", action="store_true", help="no faults")
    parser.add_argument("--keep", type=Path, help="copy the ledger and all logs to this folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop all processes then as well
    # The seed also decides which relay runs.
    relay = "celery" if sum(options.seed.encode()) % 2 else "run"
    stack = Stack(options.on, relay, on_cluster=options.redis == "cluster", is_small=options.small)
    try:
        os.environ.update(stack.environment)
        django.setup()
        from tests.storm.storm import Storm  # needs the settings

        storm = Storm(stack, options.seed, options.minutes, is_small=options.small, has_faults=not options.calm)
        return storm.run()
    finally:
        stack.crew.kill_all()
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for file in [*stack.folder.glob("*.log"), *stack.folder.glob("*.jsonl")]:
                shutil.copy(file, options.keep)
        stack.stop()
        shutil.rmtree(stack.folder)


if __name__ == "__main__":
    sys.exit(main())
