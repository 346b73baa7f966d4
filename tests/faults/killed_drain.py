"""``python -m tests.faults.killed_drain STEP``: drain what is pending of items, and die at that step."""

import os
import signal
import sys


def main(last: str) -> None:
    """Drain; SIGKILL comes before the step ``last``."""
    import django

    django.setup()
    from mirror import apply, outbox, registry

    def step(name: str) -> None:
        if name == last:
            os.kill(os.getpid(), signal.SIGKILL)

    keys, _ = outbox.next_keys(0, 1000)
    apply.drain(registry.get("titem"), keys["titem"], step=step)


if __name__ == "__main__":
    main(sys.argv[1])
