"""The kinds of mirror, as apply and verify use them (windows: ``mirror.windows.kinds``).

A *shape* knows for its kind: the key that a drain watches, the commands that read the present state of rows, the
entries for which that state accounts, and the commands that write the rows' own keys. Everything else is the same
for all kinds.
"""

from collections.abc import Callable
from typing import Any, Final

from mirror import registry
from mirror.declare.mirrors import EdgeMirror, Mirror, Record, SummaryMirror
from mirror.kinds.kinds import EdgeShape, SummaryShape
from mirror.kinds.records import ABSENT, BitmapShape, HashShape, JsonShape, Said, Target
from mirror.windows.declare import WindowMirror

__all__ = [
    "ABSENT",
    "BitmapShape",
    "EdgeShape",
    "HashShape",
    "JsonShape",
    "Said",
    "SummaryShape",
    "Target",
    "get_encoder",
    "shape_of",
]


RECORDS: Final[dict[str, type[JsonShape]]] = {"json": JsonShape, "hash": HashShape, "bitmap": BitmapShape}


def shape_of(mirror: Mirror) -> JsonShape:
    """Return the shape for a mirror's kind."""
    from mirror.windows.kinds import window_shape

    if isinstance(mirror, EdgeMirror):
        return EdgeShape(mirror)
    if isinstance(mirror, WindowMirror):
        return window_shape(mirror)
    if isinstance(mirror, SummaryMirror):
        return SummaryShape(mirror)
    return RECORDS[mirror.record_kind](mirror)


def get_encoder(name: str) -> Callable[[Record], Any]:
    """Return the function that encodes records of the mirror called ``name`` as Redis has them."""
    return shape_of(registry.get(name)).encode
