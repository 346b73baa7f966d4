"""A process that drains: ``python -m tests.support.faults.drainer die STEP``, or ``... on KEY`` until it is killed."""

import os
import signal
import sys


def die(last: str) -> None:
    """Drain the pending changes of items. SIGKILL comes before the step ``last``."""
    from mirror import registry
    from mirror.outbox import changes
    from mirror.relay import apply

    def step(name: str) -> None:
        if name == last:
            os.kill(os.getpid(), signal.SIGKILL)

    keys, _ = changes.next_keys(0, 1000)
    apply.drain(registry.get("titem"), keys["titem"], step=step)


def on(pk: str) -> None:
    """Drain an item and a follow over and over. Each round is counted in Redis, in the hash ``drains``."""
    from mirror import registry
    from mirror.redis.clients import relay_client
    from mirror.redis.session import Conflict
    from mirror.relay import apply

    while True:
        for name, key in (("titem", pk), ("tfollow", "1:2")):
            try:
                apply.drain(registry.get(name), [key])
            except Conflict:  # after twenty conflicts, the other drains have written the row
                continue
        relay_client().hincrby("drains", str(os.getpid()))


if __name__ == "__main__":
    import django

    django.setup()
    {"die": die, "on": on}[sys.argv[1]](sys.argv[2])
