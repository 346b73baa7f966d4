"""Samples: compare a bounded number of a mirror's rows with SQL, before a Redis that restarted is believed.

A server that lost a part of its data, for whatever reason, most likely lost the newest changes, or all of a kind. So
the sample contains the rows that changed last, and neighbours from random places.
"""

import random
from collections import defaultdict
from functools import cached_property
from typing import Any, Final

from django.db.models import IntegerField

from mirror.comparison import compare, scan
from mirror.declare.mirrors import Mirror, get_primary
from mirror.kinds import kind_of
from mirror.outbox import changes
from mirror.outbox.errors import raise_if_away
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.utils.rows import all_rows

NEWEST: Final = 5000  # changes that are read, of all mirrors together
ROWS: Final = 200  # of each mirror: with the newest changes, and from random places
PLACES: Final = 5
SCANS: Final = 20  # SCAN commands that look for lazy windows


class Sampler:
    """Compares samples of several mirrors, for which it reads changes and keys only once.

    Raises redis-py's errors and Django's database errors.
    """

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._newest = _list_newest_rows()

    @cached_property
    def _some_keys(self) -> list[str]:
        with Session(self._redis) as session:
            return _find_some_keys(session)

    def differs(self, mirror: Mirror) -> bool:
        """Return whether a sample of the mirror's rows differs from SQL, or cannot be compared."""
        try:
            return bool(self._find_differences(mirror))
        except Exception as error:
            # A key of the wrong type, or any error of the declaration.
            raise_if_away(error)
            return True

    def _find_differences(self, mirror: Mirror) -> list[compare.Difference]:
        def list_rows() -> list[str]:
            rows = self._newest[mirror.name][:ROWS] + _choose_rows(mirror)
            return list(dict.fromkeys(rows))

        with Session(self._redis) as session:
            # As functions, because most kinds need either rows or keys, and both are read at some cost.
            return kind_of(mirror).compare_sample(session, lambda: self._some_keys, list_rows, ROWS)


def _list_newest_rows() -> dict[str, list[str]]:
    """Return the rows with the newest changes by mirror, the newest first."""
    found: dict[str, list[str]] = defaultdict(list)
    for mirror, key in changes.list_newest(NEWEST):
        if key != changes.WHOLE:
            found[mirror].append(key)
    return found


def _choose_rows(mirror: Mirror) -> list[str]:
    """Return rows from random places if the keys are numbers, otherwise the first rows."""
    model: Any = getattr(mirror, "model", None)
    if type(mirror).keys_after is not Mirror.keys_after or not isinstance(get_primary(model), IntegerField):
        return mirror.keys_after(None, ROWS)
    ordered: Any = all_rows(model).order_by("pk").values_list("pk", flat=True)
    # Not Min and Max: SQLite would read all rows.
    first = ordered.first()
    last = ordered.last()
    if first is None:
        return []
    rows: list[str] = []
    for _ in range(PLACES):
        # Rows are read after this place, so that the first one can be chosen as well.
        place = str(random.randint(first - 1, last))
        rows += mirror.keys_after(place, ROWS // PLACES)
    return rows


def _find_some_keys(session: Session) -> list[str]:
    """Return some keys of Redis, found with a bounded number of commands."""
    cursor = "0"
    found: list[str] = []
    for _ in range(SCANS):
        cursor, keys = scan.next_keys(session, cursor, scan.STEP)
        found += keys
        if cursor in scan.DONE:
            break
    return found
