"""The kinds of windows."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.core.checks import CheckMessage
from django.db.models import QuerySet

from mirror.comparison.compare import Difference
from mirror.comparison.targets import ABSENT, Stored, Target
from mirror.comparison.verification import Verification
from mirror.declare import values
from mirror.declare.entries import Contribution, Entry, Scored
from mirror.declare.watches import Watch
from mirror.kinds.base import Reader
from mirror.kinds.edges import GuardedKind
from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from mirror.redis.session import Command, Conflict, Session
from mirror.redis.types import RedisClient
from mirror.utils.callbacks import ProgressCallback
from mirror.utils.rows import all_rows
from mirror.windows.checks import check_window
from mirror.windows.content import get_scores, read_scores, settle_scores
from mirror.windows.declare import CUT, MAKING, SENTINEL, WHOLE, WindowMirror
from mirror.windows.verify import LazyVerification, Windows

MEMBERS: Final = 20_000  # members of windows that are read or written together


class WindowKind(GuardedKind):
    """The newest rows of an owner. Its members account for themselves. Drains watch a guard, as for edges."""

    mirror: WindowMirror
    declaration = WindowMirror
    needed = ("record_key", "newest", "families")

    def home(self, pk: str) -> str:
        return self.mirror.record_key(pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        # A push writes the window alone. A drain that changes no member breaks a WATCH on the guard alone.
        guards = super().watches(pks)
        return guards + [self.mirror.record_key(pk) for pk in pks]

    def finish(self, owns: Mapping[str, Stored]) -> list[Command]:
        # The claims of deliveries in progress, which are then refused: they may have read SQL earlier.
        windows = [self.mirror.record_key(pk) for pk in owns]
        return [("DEL", naming.claims(find_slot(window), window)) for window in windows]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("ZRANGE", self.mirror.record_key(pk), 0, -1, "WITHSCORES") for pk in pks]

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        return [read_scores(reply) for reply in replies]

    def before(self, pk: str, stored: Stored) -> Iterable[Contribution]:
        key = self.mirror.record_key(pk)
        return [Scored(key, member, score) for member, score in stored.items()]

    def difference(
        self, pk: str, stored: Stored, strays: Sequence[Entry], target: Target
    ) -> tuple[Sequence[Entry], Sequence[Contribution]]:
        if strays:
            return super().difference(pk, stored, strays, target)
        # Most members remain, and entries of both sides would take ten times as long.
        key = self.mirror.record_key(pk)
        wanted = get_scores(target)
        gone = [Scored(key, member, score) for member, score in stored.items() if member not in wanted]
        added = [Scored(key, member, score) for member, score in wanted.items() if stored.get(member) != score]
        return gone, added

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        found = super().load(pks)
        for pk, ids in found.items():
            values.check_ids(self.mirror.name, pk, ids)
        return found

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        return {pk: Target(None, self._list_entries(pk, ids)) for pk, ids in self.load(pks).items()}

    def limit_batch(self, rows: int) -> int:
        """Return fewer rows than for other kinds, because windows are long."""
        return max(1, min(rows, MEMBERS // self.mirror.length))

    def list_rows(self) -> "QuerySet[Any] | None":
        return None

    def count_rows(self) -> int | None:
        if not self.mirror.is_of_rows():
            return None
        return all_rows(self.mirror.model).count()

    def name_model(self) -> str:
        if not self.mirror.is_of_rows():
            return ""
        return super().name_model()

    def name_key(self, pk: str) -> str:
        return self.mirror.record_key(pk)

    def check(self) -> Iterator[CheckMessage]:
        return check_window(self.mirror)

    def _list_entries(self, pk: str, ids: Iterable[int]) -> list[Contribution]:
        key = self.mirror.record_key(pk)
        return [Scored(key, str(one), one) for one in ids]


class LazyKind(WindowKind):
    """A window that exists only while it is read."""

    is_lazy = True

    def conditions(self, pk: str, stored: Stored) -> list[Command]:
        """Require that the window has neither expired nor been deleted."""
        score = stored.get(SENTINEL)
        if score is None:
            return []
        return [("STILL", self.mirror.record_key(pk), SENTINEL, score)]

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """Return the content of new windows: for every existing owner, even without rows."""
        found = self.load(pks)
        length = self.mirror.length
        targets: dict[str, Target] = {}
        for pk in self.mirror.owners(pks):
            ids = found.get(pk, ())
            entries = self._list_entries(pk, ids[:length])
            state = CUT if len(ids) > length else WHOLE
            entries.append(Scored(self.mirror.record_key(pk), SENTINEL, state))
            targets[pk] = Target(None, entries)
        return targets

    def wanted(self, pks: Sequence[str], stored: Sequence[Stored]) -> dict[str, Target]:
        """Recompute warm windows, leave those in the making to their warm-ups, and delete all others."""
        warm: list[str] = []
        targets: dict[str, Target] = {}
        for pk, members in zip(pks, stored, strict=True):
            state = members.get(SENTINEL)
            if state == MAKING:
                targets[pk] = self._keep_members(pk, members)
            elif state in (WHOLE, CUT):
                warm.append(pk)
        if warm:
            targets |= self.targets(warm)
        return targets

    def settle(self, pk: str, stored: Stored, target: Target, moving: Collection[str] = ()) -> Target:
        """Return the expected content at rest of a window in this state: all rows of SQL from its floor upwards.

        target: the content of a new window. moving: members with a pending push, which may be present or not.
        """
        state = stored.get(SENTINEL)
        if state == MAKING:
            return self._keep_members(pk, stored)
        if state not in (WHOLE, CUT):
            return ABSENT
        # Without an owner, or with more members than a push leaves, the window should equal a new one.
        if not target.entries or len(stored) > self.mirror.length + 1:
            return target
        key = self.mirror.record_key(pk)
        settled = settle_scores(stored, get_scores(target), moving)
        return Target(None, [Scored(key, member, score) for member, score in settled.items()])

    def list_readers(self) -> list[Reader]:
        """Return no functions: rows require no windows."""
        return []

    def select_present(self, pks: Sequence[str], redis: RedisClient) -> list[str]:
        """Return the owners whose windows are warm or in the making."""
        pipe = redis.pipeline(transaction=False)
        for pk in pks:
            pipe.zscore(self.mirror.record_key(pk), SENTINEL)
        states = pipe.execute()
        return [pk for pk, state in zip(pks, states, strict=True) if state is not None]

    def verification(self, session: Session, progress: ProgressCallback, *, all_strays: bool) -> Verification:
        return LazyVerification(Windows(self, session), progress)

    def compare(self, pks: Sequence[str], strays: Mapping[str, Iterable[Entry]], session: Session) -> list[Difference]:
        return Windows(self, session).find_differences(pks)

    def compare_sample(
        self,
        session: Session,
        list_keys: Callable[[], Sequence[str]],
        list_rows: Callable[[], Sequence[str]],
        limit: int,
    ) -> list[Difference]:
        windows = Windows(self, session)
        windows.collect_owners(list_keys())
        return windows.find_differences(windows.choose_owners(limit))

    def find_fault_of_push(self, watch: Watch) -> str:
        if watch.via is not None:
            return "pushed cannot be combined with via"
        for name in ("reach", "sources"):
            if getattr(type(self.mirror), name) is getattr(WindowMirror, name):
                return f"pushed needs {name}()"
        return ""

    def _keep_members(self, pk: str, stored: Stored) -> Target:
        return Target(None, list(self.before(pk, stored)))


class WarmingKind(LazyKind):
    """A lazy window during its warm-up."""

    made = False  # whether the window has an owner and was made

    def wanted(self, pks: Sequence[str], stored: Sequence[Stored]) -> dict[str, Target]:
        # Without its sentinel, pushes since the claim could not reach the window.
        if any(found.get(SENTINEL) is None for found in stored):
            raise Conflict
        targets = self.targets(pks)
        self.made = bool(targets)
        return targets

    def finish(self, owns: Mapping[str, Stored]) -> list[Command]:
        return super().finish(owns) + self._set_lives(owns)

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        return super().write(owns) + self._set_lives(owns)

    def _set_lives(self, owns: Iterable[str]) -> list[Command]:
        """Return the commands that give these windows their full lives."""
        seconds = self.mirror.life_seconds
        commands: list[Command] = []
        for pk in owns:
            key = self.mirror.record_key(pk)
            # Even an unlimited life: the claim of the warm-up has left a short one.
            commands.append(("EXPIRE", key, seconds) if seconds else ("PERSIST", key))
        return commands


def make_kind(mirror: WindowMirror) -> WindowKind:
    """Return the kind of a window mirror."""
    if mirror.lazy:
        return LazyKind(mirror)
    return WindowKind(mirror)
