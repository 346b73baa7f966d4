"""The declaration of a kind of visits, and the registered kinds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from mirror.conf import setting
from mirror.redis import naming
from mirror.redis.scripts import Script
from mirror.redis.types import RedisClient
from mirror.utils.counters import count

_VISIT: Final = (Path(__file__).parent / "visit.lua").read_text(encoding="utf-8")


class Visit(NamedTuple):
    """An entry of a stream. number: its id as one integer. fact: what ``VisitKind.parse`` returned."""

    number: int
    fact: Any


class VisitKind(ABC):
    """Visits of one kind (views of a page, last uses of a session), which share a stream."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def beside(self) -> str:
        """The key without a hash tag that pages write together with a visit: on a cluster the stream is in its slot."""

    @abstractmethod
    def parse(self, fields: Mapping[str, str]) -> Any:
        """Return the fact in an entry. Raises LookupError or ValueError for a malformed one, which is then removed."""

    @abstractmethod
    def save(self, visits: Sequence[Visit]) -> None:
        """Write these visits to SQL, oldest first, in a fixed number of statements. Runs in a transaction.

        It may get visits again that SQL has, in any order, and must not write them twice: store ``number`` under a
        unique constraint, or take the greater value. Leave out visits of deleted rows.
        """

    def restore(self, redis: RedisClient, after: str) -> str | None:
        """Write SQL's next rows after this position ("": the first) to a Redis that lost them.

        Newer data in Redis stays. Return the next position, or None at the end. A kind without this method has nothing
        to restore.
        """
        raise NotImplementedError

    @property
    def has_restore(self) -> bool:
        """Whether Redis gets data back from SQL."""
        return type(self).restore is not VisitKind.restore

    @property
    def keys(self) -> list[str]:
        """The stream, and the counter of the entries that it lost: the first two arguments of ``visit`` in Lua."""
        return [naming.visits(self.beside), naming.trimmed_visits(self.beside)]

    @property
    def length(self) -> int:
        """The approximate maximum length of the stream: the third argument of ``visit`` in Lua."""
        return int(setting("VISITS_LENGTH"))

    def count_dropped(self, reason: str, number: int = 1) -> None:
        """Count visits that never reach SQL. reason: "unavailable" if Redis did not take them."""
        count("visits_dropped", number, kind=self.name, reason=reason)


K = TypeVar("K", bound=VisitKind)
_kinds: dict[str, VisitKind] = {}


def register(kind: K) -> K:
    """Register a kind of visits and return it. Raises ValueError if its name is taken."""
    if kind.name in _kinds:
        raise ValueError(f"there are two kinds of visits called {kind.name!r}")
    _kinds[kind.name] = kind
    return kind


def all_kinds() -> list[VisitKind]:
    """Return the registered kinds in the order of their registration."""
    return list(_kinds.values())


def unregister(name: str) -> None:
    """Remove a kind (for tests)."""
    _kinds.pop(name, None)


def script(path: Path) -> Script:
    """Return a Lua script that can call ``visit(stream, trimmed, length, field, value, ...)``."""
    return Script(path, head=_VISIT)
