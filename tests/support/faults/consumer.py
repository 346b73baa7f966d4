"""A process that consumes visits: ``python -m tests.support.faults.consumer STEP NUMBER`` kills itself.

SIGKILL comes before the step STEP when it is made for this time, or with STEP "commit" just before a transaction ends.
"""

import os
import signal
import sys
from itertools import count
from unittest.mock import patch


def die(last: str, number: int) -> None:
    """Consume the visits of the test application until the kill."""
    from mirror.visits import consume
    from tests.projects.mirrortest.visits import PageVisits, pages

    numbers, save = count(1), PageVisits.save

    def kill() -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def save_and_die(*args: object) -> None:
        save(*args)  # type: ignore[arg-type]
        kill()

    def step(at: str) -> None:
        if at == last:
            kill()

    with patch.object(PageVisits, "save", save_and_die if last == "commit" else save):
        consume(pages, step=step)


if __name__ == "__main__":
    import django

    django.setup()
    die(sys.argv[1], int(sys.argv[2]))
