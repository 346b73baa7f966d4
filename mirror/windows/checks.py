"""System checks of window declarations."""

from collections.abc import Iterator

from django.core.checks import CheckMessage, Error

from mirror.declare.watches import Watch
from mirror.windows.declare import WindowMirror


def check_window(mirror: WindowMirror) -> Iterator[CheckMessage]:
    """Check a window mirror, apart from its watches."""
    for fault, hint in _list_faults(mirror):
        yield Error(f"Mirror {mirror.name!r}: {fault}.", hint=hint, obj=type(mirror), id="mirror.E022")


def _list_faults(mirror: WindowMirror) -> Iterator[tuple[str, str]]:
    yield from _list_faults_of_settings(mirror)
    if mirror.lazy:
        yield from _list_faults_of_owners(mirror)
    fault = _find_fault_of_key(mirror)
    if fault:
        yield fault, "key(owner) must be a fixed string that contains the owner once, so that its windows can be found."


def _list_faults_of_settings(mirror: WindowMirror) -> Iterator[tuple[str, str]]:
    length = getattr(mirror, "length", None)
    if not isinstance(length, int) or length < 1:
        yield "length must be an integer of at least 1", "length is the maximum number of rows in a window."
    if mirror.life_seconds < 0 or (mirror.life_seconds and not mirror.lazy):
        yield "only a lazy window has a life", "An eager window never expires: readers rely on it."
    if mirror.after and not mirror.lazy:
        yield "only a lazy window comes after other mirrors", "after applies to windows with pushed rows."


def _list_faults_of_owners(mirror: WindowMirror) -> Iterator[tuple[str, str]]:
    """Yield the reasons why windows of deleted owners would remain."""
    if mirror.is_of_rows():
        if not _watches_owners(mirror):
            yield "it does not watch deletions of owners", "Watch the model itself, with its primary key."
    elif type(mirror).owners is WindowMirror.owners:
        yield (
            "it does not define owners()",
            "keys_after() lists owners that are not rows of model, so owners() must tell which of them exist.",
        )


def _watches_owners(mirror: WindowMirror) -> bool:
    primary_key = Watch(mirror.model).key_columns
    for watch in mirror.watches:
        if watch.model is mirror.model and not watch.source and watch.key_columns == primary_key:
            return True
    return False


def _find_fault_of_key(mirror: WindowMirror) -> str:
    try:
        places = mirror.record_key("\0").count("\0")
    except Exception as error:
        return f"key() fails: {error!r}"
    if places == 1:
        return ""
    if places == 0 and not mirror.lazy and any(watch.whole for watch in mirror.watches):
        # A fixed key is possible for the window of all rows, which has no owner.
        return ""
    return f"key() contains the owner {places} times"
