"""From users to their numbers in the bitmaps of days: kept in the process, given out by SQL, never to anybody else."""

import threading
from collections.abc import Collection, Mapping
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from loginlog.models import Erased, Number

KEPT: Final = 100_000  # users a process remembers
STEP: Final = 500  # users a statement


class Numbers:
    """The numbers this process knows; the users asked for longest ago are forgotten first."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._lock = threading.Lock()

    def get(self, user_id: int) -> int | None:
        """The number, if it is known here."""
        with self._lock:
            number = self._known.pop(user_id, None)
            if number is not None:
                self._known[user_id] = number  # newest last
            return number

    def keep(self, numbers: Mapping[int, int]) -> None:
        """Remember these."""
        with self._lock:
            self._known |= numbers
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]

    def forget(self, user_id: int) -> None:
        """A user has this number no more."""
        with self._lock:
            self._known.pop(user_id, None)

    def clear(self) -> None:
        """Forget everything (for tests)."""
        with self._lock:
            self._known.clear()


known = Numbers()


def of(user_id: int) -> tuple[int, bool]:
    """A user's number, made if there is none; and whether Redis is clean for it.

    It is not while bits of an erased number of the same user are still there: then nothing of this user may be
    written to Redis, or it would be wiped with them.
    """
    number = known.get(user_id)
    if number is not None:
        return number, True
    row, made = Number.objects.get_or_create(user_id=user_id)
    clean = not Erased.objects.filter(user_pk=user_id).exists()
    if clean and not (made and transaction.get_connection().in_atomic_block):  # it could be rolled back
        known.keep({user_id: row.pk})
    return row.pk, clean


def of_many(user_ids: Collection[int]) -> tuple[dict[int, int], set[int]]:
    """Numbers by user id, made where there are none, and the users for whom Redis is not clean. For imports."""
    found = {user: number for user in user_ids if (number := known.get(user)) is not None}
    wanted = set(user_ids) - found.keys()
    asked = _ask(wanted)
    missing = sorted(wanted - asked.keys())
    if missing:
        Number.objects.bulk_create([Number(user_id=user) for user in missing], STEP, ignore_conflicts=True)
        asked |= _ask(missing)
    fresh = {user: number for user, (number, clean) in asked.items() if clean}
    if not transaction.get_connection().in_atomic_block:
        known.keep(fresh)
    return found | {user: number for user, (number, _) in asked.items()}, asked.keys() - fresh.keys()


def _ask(user_ids: Collection[int]) -> dict[int, tuple[int, bool]]:
    """Number, and whether Redis is clean, of those users who have one."""
    left = Erased.objects.filter(user_pk=OuterRef("user_id"))
    asked, found = sorted(user_ids), {}
    for at in range(0, len(asked), STEP):
        rows = Number.objects.filter(user_id__in=asked[at : at + STEP]).annotate(soiled=Exists(left))
        for user, number, soiled in rows.values_list("user_id", "pk", "soiled"):
            found[user] = number, not soiled
    return found
