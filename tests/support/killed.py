"""The death of a process at a step of its work, without a process."""

from collections.abc import Callable


class Killed(BaseException):
    """Stands for the death of a process: no code catches it."""


def kill(*args: object, **options: object) -> None:
    """Die, in place of any function."""
    raise Killed


def before(step: str, do: Callable[[], object] = kill, *, nth: int = 1) -> Callable[[str], None]:
    """Return a callback that runs ``do`` before the nth time of this step."""
    seen = 0

    def at(name: str) -> None:
        nonlocal seen
        seen += name == step
        if name == step and seen == nth:
            do()

    return at
