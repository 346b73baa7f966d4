"""Extras: data of other applications about books, read in the same round trip as the books.

The catalogue knows none of these applications. Each registers its extras in ``AppConfig.ready``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.utils.safestring import SafeString, mark_safe

from mirror.redis_types import RedisPipeline


@dataclass(frozen=True)
class Extra:
    """An addition to a book's page and its JSON.

    name: its key in the template variable ``extras``. mirrors: the mirrors that must be warm. ask: adds exactly one
    command to a pipeline. found: returns the value for the book with this id from the reply. by_sql: returns the same
    value from SQL. fields: returns the fields that the value adds to the book's JSON.
    """

    name: str
    mirrors: Sequence[str]
    ask: Callable[[RedisPipeline, int], object]
    found: Callable[[int, Any], Any]
    by_sql: Callable[[int], Any]
    fields: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class CardExtra:
    """An addition to the cards of a list of books.

    ask: adds exactly one command for all cards. The command must read data of a mirror that places books
    (``listing.sorts``), which is therefore warm whenever the list is. found: returns the value of each card from the
    reply. by_sql: returns the same values from SQL. words: renders a value for a card.
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
    """Register ``extra`` for cards, after the extras that are already registered."""
    _card_extras[extra.name] = extra


def add_card_commands(pipe: RedisPipeline, ids: Sequence[int]) -> None:
    """Add the commands of all card extras to a pipeline."""
    for extra in _card_extras.values():
        extra.ask(pipe, ids)


def count_card_commands() -> int:
    """Return the number of commands that ``ask_for_cards`` adds."""
    return len(_card_extras)


def read_card_replies(replies: Sequence[Any]) -> CardValues:
    """Return the values of all card extras, from the replies to ``ask_for_cards``."""
    return [extra.found(reply) for extra, reply in zip(_card_extras.values(), replies, strict=True)]


def load_cards_from_sql(ids: Sequence[int]) -> CardValues:
    """Return the same values as ``found_for_cards``, from SQL."""
    return [extra.by_sql(ids) for extra in _card_extras.values()] if ids else []


def render_card_extras(beside: CardValues) -> list[SafeString]:
    """Return the additional HTML of each card. The list is empty without card extras and without cards."""
    if not beside:
        return []
    words = [map(extra.words, values) for extra, values in zip(_card_extras.values(), beside, strict=True)]
    return [mark_safe("".join(of_one)) for of_one in zip(*words, strict=True)]
