"""Read and change the sorted lists in SQL. One statement handles any number of lists."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final

from django.db import connections
from django.db.backends.utils import CursorWrapper

from mirror.conf import database
from mirror.utils import arrays

Member = tuple[str, int]  # member, weight
Entry = tuple[str, str, int]  # key, member, weight
_TYPES: Final = {"key": "text", "member": "text", "weight": "bigint"}


def read_lists(keys: Collection[str], limit: int) -> dict[str, list[Member]]:
    """Return up to ``limit`` members of each list, heaviest first, then by their bytes. Empty lists are left out."""
    found: dict[str, list[Member]] = defaultdict(list)
    with _open_cursor() as cursor:
        by = f'p.weight DESC, p.member COLLATE "{arrays.byte_collation()}"'
        source, values = arrays.list_values(keys, "text")
        best = f"FROM search_posting p WHERE p.key = k.value ORDER BY {by} LIMIT %s"
        found_sql = arrays.join_found("search_posting", best, "p")
        cursor.execute(
            f"SELECT k.value, p.member, p.weight FROM {source} {found_sql} ORDER BY k.value, {by}", [*values, limit]
        )
        for key, member, weight in cursor.fetchall():
            found[key].append((member, weight))
    return found


def read_heaviest(keys: Collection[str]) -> dict[str, int]:
    """Return the highest weight in each list. Empty lists are left out.

    The index finds it at once. ``read_lists`` also sorts members of equal weight, which may be a whole list.
    """
    with _open_cursor() as cursor:
        source, values = arrays.list_values(keys, "text")
        heaviest = "SELECT p.weight FROM search_posting p WHERE p.key = k.value ORDER BY p.weight DESC LIMIT 1"
        cursor.execute(f"SELECT k.value, ({heaviest}) FROM {source}", values)
        return {key: weight for key, weight in cursor.fetchall() if weight is not None}


def change_lists(remove: Iterable[Entry], add: Iterable[Entry]) -> None:
    """Remove entries, then add entries or update their weights."""
    with _open_cursor() as cursor:
        if gone := list(remove):
            pairs, values = arrays.make_table(_TYPES, gone)
            cursor.execute(
                f"DELETE FROM search_posting WHERE (key, member) IN (SELECT key, member FROM {pairs})", values
            )
        if new := list(add):
            rows, values = arrays.make_table(_TYPES, new)
            cursor.execute(
                f"INSERT INTO search_posting (key, member, weight) SELECT key, member, weight FROM {rows} WHERE true"
                " ON CONFLICT (member, key) DO UPDATE SET weight = excluded.weight",
                values,
            )


def _open_cursor() -> CursorWrapper:
    return connections[database()].cursor()
