"""Extras: data of other applications about books, read in the same round trip as the books."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.utils.safestring import SafeString, mark_safe

from mirror.redis_types import RedisPipeline


@dataclass(frozen=True, kw_only=True)
class Extra(Addition):
    """An addition to a book's page and its JSON. Its subject is the id of a book.

    name: also its key in the template variable ``extras``. fields: returns the fields that the value adds to the
    book's JSON.
    """

    name: str
    mirrors: Sequence[str]
    ask: Callable[[RedisPipeline, int], object]
    found: Callable[[int, Any], Any]
    by_sql: Callable[[int], Any]
    fields: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class CardExtra(Addition):
    """An addition to the cards of a list of books. Its subject is a list of ids, its value has one value for each card.

    ask: must read data of a mirror that places books (``listing.sorts``), which is therefore warm whenever the list is.
    found: gets the reply alone. words: renders a value for a card.
    """

    name: str
    ask: Callable[[RedisPipeline, Sequence[int]], object]
    found: Callable[[Any], Sequence[Any]]
    by_sql: Callable[[Sequence[int]], Sequence[Any]]
    words: Callable[[Any], SafeString]


_extras: Final[dict[str, Extra]] = {}
_card_extras: Final[dict[str, CardExtra]] = {}


def register_extra(extra: Extra) -> None:
    """Register ``extra`` for the pages of books, after the extras that are already registered."""
    _extras[extra.name] = extra


def find_required_mirrors() -> list[str]:
    """Return the mirrors that must be warm for all extras, each once."""
    return list(dict.fromkeys(name for extra in _extras.values() for name in extra.mirrors))


def add_commands(pipe: RedisPipeline, book_id: int) -> None:
    """Add the commands of all extras to a pipeline."""
    for extra in _extras.values():
        extra.ask(pipe, book_id)


def read_replies(book_id: int, replies: Sequence[Any]) -> dict[str, Any]:
    """Return the values of all extras by name, from the replies to ``ask``."""
    return {extra.name: extra.found(book_id, reply) for extra, reply in zip(_extras.values(), replies, strict=True)}


def load_from_sql(book_id: int) -> dict[str, Any]:
    """Return the same values as ``found``, from SQL."""
    return {extra.name: extra.by_sql(book_id) for extra in _extras.values()}


def join_json(raw: bytes, values: Mapping[str, Any]) -> bytes:
    """Return the record ``raw`` (a non-empty JSON object) with the fields of all extras as one JSON object."""
    more: dict[str, Any] = {}
    for name, value in values.items():
        more.update(_extras[name].fields(value))
    return b"%b,%b" % (raw[:-1], orjson.dumps(more)[1:]) if more else raw


# --- cards ----------------------------------------------------------------------------------------

CardValues = Sequence[Sequence[Any]]  # for each card extra, its value for each book


def register_card_extra(extra: CardExtra) -> None:
    """Register ``extra`` for cards, after the Callable[[Any], SafeString]


page_extras: Final = Additions[Extra]()
card_extras: Final = Additions[CardExtra]()


def join_json(raw: RedisPipeline, values: Mapping[str, Any]) -> bytes:
    """Return the record ``raw`` (a non-empty JSON object) with the fields of all extras as one JSON object."""
    more: dict[str, Any] = {}
    for name, value in values.items():
        more.update(page_extras.registered[name].fields(value))
    return b"%b,%b" % (raw[:-1], orjson.dumps(more)[1:]) if more else raw


def read_card_replies(replies: Iterable[Any]) -> CardValues:
    """Return the values of all card extras, from the replies to their commands."""
    return list(card_extras.read_replies(replies).values())


def load_cards_from_sql(ids: Sequence[int]) -> CardValues:
    """Return the same values as ``read_card_replies``, from SQL."""
    return list(card_extras.load_from_sql(ids).values()) if ids else []


def render_card_extras(beside: CardValues) -> list[SafeString]:
    """Return the additional HTML of each card. The list is empty without card extras and without cards."""
    if not beside:
        return []
    extras = card_extras.registered.values()
    words = [map(extra.words, values) for extra, values in zip(extras, beside, strict=True)]
    return [mark_safe("".join(of_one)) for of_one in zip(*words, strict=True)]
