"""Windows, as apply and verify use them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from mirror.declare import values
from mirror.declare.entries import Contribution, Entry, Scored
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.kinds import ABSENT, EdgeShape, Said, Target
from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from mirror.redis.session import Command, Conflict
from mirror.windows.declare import CUT, MAKING, SENTINEL, WHOLE, WindowMirror

MEMBERS: Final = 20_000  # members of windows that are read or written together


class WindowShape(EdgeShape):
    """The newest rows of an owner. Its members account for themselves. Drains watch a guard, as for edges."""

    mirror: WindowMirror  # type: ignore[assignment]

    def home(self, pk: str) -> str:
        return self.mirror.record_key(pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [*map(self.watched, pks), *map(self.mirror.record_key, pks)]

    def finish(self, owns: Mapping[str, Said]) -> list[Command]:
        """Refuse deliveries in progress, which have read SQL earlier."""
        windows = [self.mirror.record_key(pk) for pk in owns]
        return [("DEL", naming.claims(find_slot(window), window)) for window in windows]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("ZRANGE", self.mirror.record_key(pk), 0, -1, "WITHSCORES") for pk in pks]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [_members(reply) for reply in replies]

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        key = self.mirror.record_key(pk)
        return [Scored(key, member, score) for member, score in said.items()]

    def difference(
        self, pk: str, said: Said, strays: Sequence[Entry], target: Target
    ) -> tuple[Sequence[Entry], Sequence[Contribution]]:
        if strays:
            return super().difference(pk, said, strays, target)
        # Most members remain, and entries of both sides would take ten times as long.
        key, members = self.mirror.record_key(pk), {entry[1] for entry in target.entries}
        gone: list[Entry] = [Scored(key, member, score) for member, score in said.items() if member not in members]
        return gone, [entry for entry in target.entries if said.get(entry[1]) != entry[-1]]

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        found = super().load(pks)
        for pk, ids in found.items():
            values.check_ids(self.mirror.name, pk, ids)
        return found

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        return {pk: Target(None, self._scored(pk, ids)) for pk, ids in self.load(pks).items()}

    def _scored(self, pk: str, ids: Iterable[int]) -> list[Contribution]:
        key = self.mirror.record_key(pk)
        return [Scored(key, str(one), one) for one in ids]


class LazyShape(WindowShape):
    """A window that exists only while it is read."""

    def conditions(self, pk: str, said: Said) -> list[Command]:
        """Require that the window has neither expired nor been deleted."""
        score = said.get(SENTINEL)
        return [] if score is None else [("STILL", self.mirror.record_key(pk), SENTINEL, score)]

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """Return the content of new windows: for every existing owner, even without rows."""
        found, length = self.load(pks), self.mirror.length
        targets = {}
        for pk in self.mirror.owners(pks):
            ids = found.get(pk, ())
            end = Scored(self.mirror.record_key(pk), SENTINEL, CUT if len(ids) > length else WHOLE)
            targets[pk] = Target(None, [*self._scored(pk, ids[:length]), end])
        return targets

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        """Recompute warm windows, leave those in the making to their warm-ups, and delete all others."""
        scores = {pk: found.get(SENTINEL) for pk, found in zip(pks, said, strict=True)}
        warm = [pk for pk, score in scores.items() if score in (WHOLE, CUT)]
        making = {pk: found for pk, found in zip(pks, said, strict=True) if scores[pk] == MAKING}
        targets = {pk: Target(None, list(self.before(pk, found))) for pk, found in making.items()}
        return targets | self.targets(warm) if warm else targets

    def standing(self, pk: str, said: Said, target: Target, moving: Collection[str] = ()) -> Target:
        """Return the expected content at rest of a window in this state: all rows of SQL from its floor upwards.

        target: the content of a new window. moving: members with a pending push, which may be present or not.
        """
        score, key = said.get(SENTINEL), self.mirror.record_key(pk)
        if score == MAKING:
            return Target(None, list(self.before(pk, said)))
        if score not in (WHOLE, CUT) or not target.entries or len(said) > self.mirror.length + 1:
            return target if score in (WHOLE, CUT) else ABSENT
        wanted = {entry.member: entry.score for entry in target.entries if isinstance(entry, Scored)}
        is_cut = wanted.pop(SENTINEL) == CUT
        covered = min(wanted.values()) if is_cut else 0  # below this id, ``target`` has no rows to compare with
        floor = min((int(m) for m in said if _is_id(m) and m not in moving), default=None) if score == CUT else 0
        known = {m: s for m, s in wanted.items() if floor is not None and s >= floor and m not in moving}
        left = {m: said[m] for m in said if m in moving or (_is_id(m) and int(m) < covered)}
        end = CUT if is_cut and not moving else score
        return Target(None, [Scored(key, m, s) for m, s in (known | left | {SENTINEL: end}).items()])


class WarmingShape(LazyShape):
    """A lazy window during its warm-up."""

    made = False  # whether the window has an owner and was made

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        if any(found.get(SENTINEL) is None for found in said):
            raise Conflict  # deleted meanwhile, so pushes could not reach it
        targets = self.targets(pks)
        self.made = bool(targets)
        return targets

    def finish(self, owns: Mapping[str, Said]) -> list[Command]:
        return super().finish(owns) + self._lives(owns)

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        return super().write(owns) + self._lives(owns)

    def _lives(self, owns: Iterable[str]) -> list[Command]:
        seconds, keys = self.mirror.life_seconds, list(map(self.mirror.record_key, owns))
        return [("EXPIRE", key, seconds) if seconds else ("PERSIST", key) for key in keys]


def _members(reply: Any) -> dict[str, float]:
    """Return the members and scores of a sorted set."""
    pairs = reply if reply and isinstance(reply[0], (list, tuple)) else zip(reply[::2], reply[1::2], strict=True)
    members, scores = zip(*pairs, strict=True) if reply else ((), ())
    try:
        texts = list(map(bytes.decode, members))
    except UnicodeDecodeError:
        texts = [member.decode(errors="replace") for member in members]
    return dict(zip(texts, map(float, scores), strict=True))


def _is_id(member: str) -> bool:
    return member.isascii() and member.isdecimal() and member[0] != "0"


def at_once(mirror: Mirror, rows: int) -> int:
    """Return how many of this mirror's rows to read or write together, where ``rows`` suits most mirrors.

    It is smaller for windows, because they are long.
    """
    if isinstance(mirror, TableMirror):
        return min(rows, mirror.batch)
    return max(1, min(rows, MEMBERS // mirror.length)) if isinstance(mirror, WindowMirror) else rows


def is_lazy(mirror: Mirror) -> TypeGuard[WindowMirror]:
    """Return whether the mirror's windows exist only while they are read."""
    return isinstance(mirror, WindowMirror) and mirror.lazy


def window_shape(mirror: WindowMirror) -> WindowShape:
    """Return the shape for a window mirror."""
    return LazyShape(mirror) if mirror.lazy else WindowShape(mirror)
