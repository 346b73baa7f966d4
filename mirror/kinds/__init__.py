"""The kinds of mirror: how rows of each kind are read, planned, written, verified, counted and explained.

A declaration names its kind, and everything else is the same for all kinds. An extension registers its own
(``mirror.windows.kinds``).
"""

from collections.abc import Callable
from typing import Any, Final

from mirror import registry
from mirror.comparison.targets import ABSENT, Stored, Target
from mirror.declare.mirrors import Mirror, Record
from mirror.kinds.base import Kind
from mirror.kinds.edges import EdgeKind
from mirror.kinds.records import BitmapKind, HashKind, JsonKind
from mirror.kinds.summaries import SummaryKind
from mirror.kinds.tables import TableKind

__all__ = [
    "ABSENT",
    "BitmapKind",
    "EdgeKind",
    "HashKind",
    "JsonKind",
    "Kind",
    "Stored",
    "SummaryKind",
    "TableKind",
    "Target",
    "get_encoder",
    "kind_of",
    "register_kind",
]

Factory = Callable[[Any], Kind]  # from a mirror, of the class that the kind's declarations have
RECORDS: Final[dict[str, type[JsonKind]]] = {"json": JsonKind, "hash": HashKind, "bitmap": BitmapKind}
_factories: Final[dict[str, Factory]] = {}


def register_kind(name: str, factory: Factory) -> None:
    """Let ``factory`` make the kinds of the mirrors whose ``mirror_kind`` is ``name``."""
    _factories[name] = factory


def kind_of(mirror: Mirror) -> Kind:
    """Return the kind of a mirror. Look it up once for a batch of rows. Raises KeyError for an unregistered name."""
    return _factories[mirror.mirror_kind](mirror)


def get_encoder(name: str) -> Callable[[Record], Any]:
    """Return the function that encodes records of the mirror called ``name`` as Redis has them."""
    return kind_of(registry.get(name)).encode


register_kind("record", lambda mirror: RECORDS[mirror.record_kind](mirror))
register_kind("edge", EdgeKind)
register_kind("summary", SummaryKind)
register_kind("table", TableKind)
