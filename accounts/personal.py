"""The data that applications keep about a person: it can be downloaded by the person, and is erased with the account.

This application knows none of the others. Each registers its parts when it is ready (``AppConfig.ready``):

>>> register(rows("posts", Post, "user", ["id", "text", "created_at"]))

Every foreign key to a user belongs to one part; a test fails for a model that was forgotten.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import models, transaction

from config.bulk import SLICE

Read = Callable[[int], Iterable[Mapping[str, Any]]]
Erase = Callable[[int], bool]
CHUNK: Final = 500  # rows in memory while a part is read


class NotYet(Exception):
    """This part cannot be erased now: the next run tries again."""


class Part(NamedTuple):
    """One kind of data about a person.

    read: yields its rows for the download; None: it is not downloaded, and ``reason`` says why. erase: deletes one
    slice in a transaction and returns whether more may be left; may be repeated at any time, and may raise NotYet.
    owners: the foreign keys that it answers for ("social.Post.user").
    """

    name: str
    read: Read | None
    erase: Erase
    owners: frozenset[str] = frozenset()
    reason: str = ""


_registered: Final[dict[str, Part]] = {}


def register(part: Part) -> None:
    """Add a part. Parts are erased in the order in which they were registered."""
    _registered[part.name] = part


def all_parts() -> list[Part]:
    """Return all parts."""
    return list(_registered.values())


def leave(user_id: int) -> bool:
    """Erase nothing: the rows go with the user's own row, or stay without the user."""
    return False


def rows(
    name: str,
    model: type[models.Model],
    owner: str,
    columns: Sequence[str] = (),
    *,
    erase: Erase | None = None,
    reason: str = "",
) -> Part:
    """Return the part for the rows of ``model`` whose ``owner`` (a field, or a path to one) is the person.

    columns: those that are downloaded; without any, ``reason`` says why. erase: by default the rows are deleted.
    """
    assert bool(columns) != bool(reason), name
    manager = model._default_manager

    def read(user_id: int) -> Iterator[Mapping[str, Any]]:
        found = manager.filter(**{owner: user_id}).order_by("pk").values(*columns)
        return found.iterator(chunk_size=CHUNK)

    def delete(user_id: int) -> bool:
        with transaction.atomic():
            ids = list(manager.filter(**{owner: user_id}).values_list("pk", flat=True)[:SLICE])
            manager.filter(pk__in=ids).delete()
        return len(ids) == SLICE

    owners = frozenset() if "__" in owner or owner == "pk" else frozenset([f"{model._meta.label}.{owner}"])
    return Part(name, read if columns else None, erase or delete, owners, reason)
