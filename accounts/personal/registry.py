"""Registry of personal data: users can download it, and it is erased with the account.

Each application registers its parts in ``AppConfig.ready``, so this one does not depend on them:

>>> register(rows("posts", Post, "user", ["id", "text", "created_at"]))

Every foreign key to a user belongs to one part; a test fails for a model that is missing. ``on_delete`` alone would
delete all posts and followers in one transaction, and leave the name in orders and files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import models, transaction

from common.database import SLICE_SIZE, repeat_after_conflict

ReadRows = Callable[[int], Iterable[Mapping[str, Any]]]
EraseSlice = Callable[[int], bool]
ROWS_IN_MEMORY: Final = 500  # rows held in memory while a part is read


class NotErasableYet(Exception):
    """A part cannot be erased now. The next run tries again."""


class Part(NamedTuple):
    """One kind of personal data.

    read: yields the rows for the download; None if the part is not downloaded, and then ``reason`` explains why.
    erase: deletes one slice in a transaction and returns whether more may be left; may be repeated at any time, and may
    raise NotYet. owners: the foreign keys that the part covers ("social.Post.user").
    """

    name: str
    read: ReadRows | None
    erase: EraseSlice
    owners: frozenset[str] = frozenset()
    reason: str = ""


_registered: Final[dict[str, Part]] = {}


def register(part: Part) -> None:
    """Register a part. Parts are erased in the order of their registration."""
    _registered[part.name] = part


def all_parts() -> list[Part]:
    """Return all parts in the order of their registration."""
    return list(_registered.values())


def erase_nothing(user_id: int) -> bool:
    """Erase nothing, for rows that are deleted with the user's row or stay without the user."""
    return False


def make_part(
    name: str,
    model: type[models.Model],
    owner: str,
    columns: Sequence[str] = (),
    *,
    computed: Mapping[str, Any] | None = None,
    erase: EraseSlice | None = None,
    reason: str = "",
) -> Part:
    """Return the part for the rows of ``model`` with the user in the field ``owner`` (or a path to a field).

    columns: the downloaded columns; without columns, ``reason`` explains why. computed: expressions that are downloaded
    as well, by name. erase: by default deletes the rows.
    """
    assert bool(columns) != bool(reason), name
    manager = model._default_manager

    def read(user_id: int) -> Iterator[Mapping[str, Any]]:
        found = manager.filter(**{owner: user_id}).order_by("pk").values(*columns, **(computed or {}))
        return found.iterator(chunk_size=ROWS_IN_MEMORY)

    @repeat_after_conflict
    def delete(user_id: int) -> bool:
        with transaction.atomic():
            ids = list(manager.filter(**{owner: user_id}).values_list("pk", flat=True)[:SLICE_SIZE])
            manager.filter(pk__in=ids).delete()
        return len(ids) == SLICE_SIZE

    owners = frozenset() if "__" in owner or owner == "pk" else frozenset([f"{model._meta.label}.{owner}"])
    return Part(name, read if columns else None, erase or delete, owners, reason)
