"""Slices of a fan-out, pushed one after the other over one connection. ``push`` explains their steps."""

import enum
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mirror.models import Change
from mirror.outbox import progress
from mirror.redis.session import Command, Conflict, Session
from mirror.utils.callbacks import Step
from mirror.windows import deliver
from mirror.windows.declare import SENTINEL, Reached, WindowMirror

SLICE: Final = 1000  # windows in a slice
ROWS: Final = 20 * SLICE  # for several changes: rows times windows
WORTH_A_LOOK: Final = 4  # rows per window above which its existence is checked first
Whole = Callable[[Sequence[str], Sequence[bytes | None]], bool]


class Outcome(enum.Enum):
    """The end of a run of slices."""

    DONE = "the changes that it ended with are applied"
    MORE = "there is more to do"
    LOST = "another process pushes it"
    COLD = "a required mirror is cold"


class Pushed(NamedTuple):
    """The result of a run.

    applied: number of applied changes. windows: number of windows that rows were sent to, whether they exist or
    not.
    """

    outcome: Outcome
    applied: int = 0
    windows: int = 0


class _Slice(NamedTuple):
    """The result of one read of SQL. end: the last owner, if more may follow."""

    changes: Sequence[Change]
    reached: Sequence[Reached]
    end: str | None


class Slices:
    """The slices of one change, or one slice of several changes."""

    def __init__(self, session: Session, mirror: WindowMirror, changes: Sequence[Change], limit: int, at: Step) -> None:
        self.session = session
        self.mirror = mirror
        self.changes = changes
        self.limit = limit
        self.at = at
        self.noted = changes[0].cursor  # the cursor in SQL
        self.windows = 0
        rows = [change.key for change in changes]
        self.deliveries = deliver.deliveries_of(session, mirror, rows)

    def push_changes(self, are_whole: Whole, goes_on: Callable[[], bool]) -> Pushed:
        """Push one slice, and others while ``goes_on`` returns True.

        Raises Conflict if another process pushes the rows.
        """
        self.at("guard")
        markers = self.deliveries.take_guards()
        if not are_whole(self.deliveries.mirrors, markers):
            return Pushed(Outcome.COLD)
        # Redis of another incarnation may have lost what was delivered up to the cursor.
        is_cursor_valid = self.changes[0].incarnation == self.session.incarnation
        ahead: _Slice | None = self._read_slice(self.noted if is_cursor_valid else None)
        delivered: _Slice | None = None  # its last batch may still be in progress
        while ahead:
            worth_it = self._select_worth(ahead.reached)
            for batch in deliver.make_batches(self.mirror, worth_it, self.deliveries.claim_token):
                self.at("deliver")
                self.windows += batch.windows
                # Redis executes it while SQL saves the progress and reads the next slice.
                self.deliveries.post_batch(batch)
                if delivered:
                    # Not before: ``post_batch`` has just checked the last batch of that slice.
                    self._save_progress(delivered)
                    delivered = None
            delivered = ahead
            has_next = ahead.end is not None and goes_on()
            ahead = self._read_slice(ahead.end) if has_next else None
        assert delivered
        self.at("finish")
        # The progress last: the release checks the last batch, which may have failed.
        self.deliveries.release_guards()
        self._save_progress(delivered)
        if delivered.end is None:
            return Pushed(Outcome.DONE, len(delivered.changes), self.windows)
        return Pushed(Outcome.MORE, 0, self.windows)

    def _read_slice(self, after: str | None) -> _Slice:
        """Read the next slice, for as many changes as fit in one."""
        self.at("read")
        if after is not None:
            # A cursor is the progress of one change: later slices are those of the first change alone.
            self.changes = self.changes[:1]
        while True:
            limit = self.limit
            if limit == SLICE and len(self.changes) > 1:
                limit = ROWS
            rows = [change.key for change in self.changes]
            reached = self.mirror.reach(rows, after, limit)
            if len(reached) < limit:
                return _Slice(self.changes, reached, None)
            if len(self.changes) == 1:
                return _Slice(self.changes, reached, reached[-1].owner)
            # A full slice of several changes may lack windows of any of them, so fewer are read together.
            self.changes = self.changes[: (len(self.changes) + 3) // 4]  # a quarter, rounded up

    def _select_worth(self, reached: Sequence[Reached]) -> Sequence[Reached]:
        """Leave out cold windows if many rows go to each window, as bulk-created rows mostly concern cold windows.

        A window that is warmed later is read from SQL, which has these rows.
        """
        owners = list(dict.fromkeys(one.owner for one in reached))
        if len(reached) <= WORTH_A_LOOK * len(owners):
            return reached
        # First, because a session keeps count of one list of replies at a time.
        self.deliveries.finish_batch()
        asks: list[Command] = [("ZSCORE", self.mirror.record_key(owner), SENTINEL) for owner in owners]
        scores = self.session.ask(asks)
        warm = {owner for owner, score in zip(owners, scores, strict=True) if score is not None}
        return [one for one in reached if one.owner in warm]

    def _save_progress(self, done: _Slice) -> None:
        """Save the progress. Raises Conflict if another process has saved some."""
        self.at("note")
        ids = [change.id for change in done.changes]
        if not progress.note(ids, self.noted, done.end, self.session.incarnation):
            raise Conflict
        self.noted = done.end
