"""A process that flushes: ``python -m tests.support.faults.flusher NAME STEP`` kills itself before that step."""

import os
import signal
import sys


def die(name: str, last: str) -> None:
    """Flush the backup ``name``. SIGKILL comes before the step ``last``."""
    from mirror.backup.flush import flush
    from mirror.backup.registry import get

    def step(at: str) -> None:
        if at == last:
            os.kill(os.getpid(), signal.SIGKILL)

    flush(get(name), step=step)


if __name__ == "__main__":
    import django

    django.setup()
    die(sys.argv[1], sys.argv[2])
