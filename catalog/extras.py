"""What other applications say of a book: asked in the same round trip as the book itself.

The catalogue knows none of them. An application registers its ``Extra`` when it is ready (``AppConfig.ready``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.utils.safestring import SafeString, mark_safe


@dataclass(frozen=True)
class Extra:
    """One thing more that a book's page and its JSON say.

    name: what templates find it by, in ``extras``. mirrors: those that have to be whole. ask: adds exactly one command
    to a pipeline. found: what its reply says of the book with this id. by_sql: the same, from SQL. fields: what of it
    the book's JSON says.
    """

    name: str
    mirrors: Sequence[str]
    ask: Callable[[Any, int], object]
    found: Callable[[int, Any], Any]
    by_sql: Callable[[int], Any]
    fields: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class CardExtra:
    """One thing more that the cards of a list of books say.

    ask: adds exactly one command, for all of them; what it reads belongs to a mirror that places books
    (``catalog.sorts``), and so is whole where the list is. found: what the reply says of each. by_sql: the same, from
    SQL. words: how a card says it.
    """

    name: str
    ask: Callable[[Any, Sequence[int]], object]
    found: Callable[[Any], Sequence[Any]]
    by_sql: Callable[[Sequence[int]], Sequence[Any]]
    words: Callable[[Any], SafeString]


_registered: Final[dict[str, Extra]] = {}
_on_cards: Final[dict[str, CardExtra]] = {}


def register(extra: Extra) -> None:
    """Have ``extra`` said of every book, after those that are registered already."""
    _registered[extra.name] = extra


def mirrors() -> list[str]:
    """The mirrors that have to be whole for all of them, each once."""
    return list(dict.fromkeys(name for extra in _registered.values() for name in extra.mirrors))


def ask(pipe: Any, book_id: int) -> None:
    """Add the commands of all of them."""
    for extra in _registered.values():
        extra.ask(pipe, book_id)


def found(book_id: int, replies: Sequence[Any]) -> dict[str, Any]:
    """What the replies say, by name."""
    return {extra.name: extra.found(book_id, reply) for extra, reply in zip(_registered.values(), replies, strict=True)}


def by_sql(book_id: int) -> dict[str, Any]:
    """As ``found``, from SQL."""
    return {extra.name: extra.by_sql(book_id) for extra in _registered.values()}


def joined(raw: bytes, values: Mapping[str, Any]) -> bytes:
    """The book's record ``raw`` (a JSON object that is not empty) and the fields of all extras, as one JSON object."""
    more: dict[str, Any] = {}
    for name, value in values.items():
        more.update(_registered[name].fields(value))
    return b"%b,%b" % (raw[:-1], orjson.dumps(more)[1:]) if more else raw


# --- cards ----------------------------------------------------------------------------------------

Beside = Sequence[Sequence[Any]]  # for each card extra, what it found of each book


def register_on_cards(extra: CardExtra) -> None:
    """Have ``extra`` said on every card, after those that are registered already."""
    _on_cards[extra.name] = extra


def ask_for_cards(pipe: Any, ids: Sequence[int]) -> None:
    """Add the commands of all of them."""
    for extra in _on_cards.values():
        extra.ask(pipe, ids)


def count_on_cards() -> int:
    """How many commands ``ask_for_cards`` adds."""
    return len(_on_cards)


def found_for_cards(replies: Sequence[Any]) -> Beside:
    """What the replies say."""
    return [extra.found(reply) for extra, reply in zip(_on_cards.values(), replies, strict=True)]


def by_sql_for_cards(ids: Sequence[int]) -> Beside:
    """As ``found_for_cards``, from SQL."""
    return [extra.by_sql(ids) for extra in _on_cards.values()] if ids else []


def words_on_cards(beside: Beside) -> list[SafeString]:
    """What each card says beside the book's own record; nothing where nobody adds to cards, or there are none."""
    if not beside:
        return []
    words = [map(extra.words, values) for extra, values in zip(_on_cards.values(), beside, strict=True)]
    return [mark_safe("".join(of_one)) for of_one in zip(*words, strict=True)]
