"""Processes that drain items or consume visits: ``python -m tests.faults.children JOB ARGUMENTS...``.

``drain STEP 1`` and ``consume STEP NUMBER`` die: SIGKILL comes before the step when it is made for this time, or with
STEP "commit" just before a transaction ends. ``repeat KEY`` drains until it is killed.
"""

import os
import signal
import sys

import django

django.setup()

from mirror import registry  # noqa: E402
from mirror.outbox import changes  # noqa: E402
from mirror.redis.clients import relay_client  # noqa: E402
from mirror.redis.session import Conflict  # noqa: E402
from mirror.relay import apply  # noqa: E402
from mirror.visits import consume  # noqa: E402
from tests.projects.mirrortest.visits import PageVisits, pages  # noqa: E402
from tests.support.killed import before  # noqa: E402


def die(job: str, last: str, number: int) -> None:
    """Drain the pending changes of items, or consume the visits of the test application, until the kill."""
    step, save = before(last, lambda: os.kill(os.getpid(), signal.SIGKILL), nth=number), PageVisits.save

    def save_and_step(*args: object) -> None:
        save(*args)  # type: ignore[arg-type]
        step("commit")

    if job == "drain":
        keys, _ = changes.next_keys(0, 1000)
        apply.drain(registry.get("titem"), keys["titem"], step=step)
    else:
        PageVisits.save = save_and_step  # type: ignore[assignment, method-assign]
        consume(pages, step=step)


def repeat(pk: str) -> None:
    """Drain an item and a follow over and over. Each round is counted in Redis, in the hash ``drains``."""
    while True:
        for name, key in (("titem", pk), ("tfollow", "1:2")):
            try:
                apply.drain(registry.get(name), [key])
            except Conflict:  # after twenty conflicts, the other drains have written the row
                continue
        relay_client().hincrby("drains", str(os.getpid()))


if __name__ == "__main__":
    job, argument, *rest = sys.argv[1:]
    repeat(argument) if job == "repeat" else die(job, argument, int(rest[0]))
