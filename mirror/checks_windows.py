"""System checks of window declarations."""

from collections.abc import Iterator

from django.core.checks import CheckMessage, Error

from mirror.declare import Mirror, Watch, WindowMirror


def check_window(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check a window mirror, apart from its watches."""
    if not isinstance(mirror, WindowMirror):
        return
    for fault, hint in _faults(mirror):
        yield Error(f"Mirror {mirror.name!r}: {fault}.", hint=hint, obj=type(mirror), id="mirror.E022")


def _faults(mirror: WindowMirror) -> Iterator[tuple[str, str]]:
    length = getattr(mirror, "length", None)
    if not isinstance(length, int) or length < 1:
        yield "a window's length is a whole number, and at least 1", "length says how many rows a window has at most."
    if mirror.life_seconds < 0 or (mirror.life_seconds and not mirror.lazy):
        yield "only a lazy window has a life", "An eager window is always there: readers take it for the truth."
    if mirror.after and not mirror.lazy:
        yield "only a lazy window comes after others", "after is for windows into which rows are pushed."
    if mirror.lazy and mirror.is_of_rows() and not any(_tells_of_owners(mirror, watch) for watch in mirror.watches):
        yield "nobody tells it that an owner is gone", "Watch the model itself, and not its updates alone."
    if fault := _fault_of_key(mirror):
        yield fault, "key(owner) is a fixed text with the owner in one place, so that its windows can be found."
    own = type(mirror)
    if mirror.lazy and not mirror.is_of_rows() and own.owners is WindowMirror.owners:
        yield (
            "it does not say owners()",
            "keys_after() lists owners that are no rows of model: which are there?",
        )


def _tells_of_owners(mirror: WindowMirror, watch: Watch) -> bool:
    is_own = watch.model is mirror.model and not watch.source and not watch.updates
    return is_own and watch.key_columns == Watch(mirror.model).key_columns


def _fault_of_key(mirror: WindowMirror) -> str:
    try:
        places = mirror.key("\0").count("\0")
    except Exception as error:
        return f"key() fails: {error!r}"
    if places == 1 or (places == 0 and not mirror.lazy and any(watch.whole for watch in mirror.watches)):
        return ""
    return f"the owner has {places} places in key()"
