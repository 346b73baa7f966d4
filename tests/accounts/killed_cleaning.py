"""Clean sessions and kill this process right after one step.

Usage: ``python -m tests.accounts.killed_cleaning STEP LIMIT``.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

STEPS = {
    "claim": ("accounts.sessions.cleaning", "claim_oldest"),
    "what hangs on them": ("accounts.sessions.ending", "sessions_ending.send"),
    "half of the transaction": ("accounts.sessions.ending", "LastSeen.objects.filter"),
    "the rows": ("accounts.sessions.ending", "delete_sessions"),
    "the mirror": ("accounts.sessions.ending", "drains.drain_keys"),
    "half of the members": ("accounts.sessions.last_seen", "remove"),
    "all of the members": ("accounts.sessions.last_seen", "remove"),
}


def _die_after(work: Callable[..., Any], *, half: bool) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> None:
        if half:
            args = (*args[:-1], args[-1][: len(args[-1]) // 2])
        work(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    return run


def main(step: str, limit: int) -> None:
    """Replace the step by one that kills the process when it is done, then clean up to ``limit`` sessions."""
    import django

    django.setup()
    from importlib import import_module

    from accounts.sessions.cleaning import clean_sessions

    module, path = STEPS[step]
    *owners, name = path.split(".")
    place: Any = import_module(module)
    for owner in owners:
        place = getattr(place, owner)
    setattr(place, name, _die_after(getattr(place, name), half=step == "half of the members"))
    clean_sessions(limit)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
