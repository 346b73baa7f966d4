"""Extras: data of other applications about books, read in the same round trip as the books."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.utils.safestring import SafeString, mark_safe

from common.additions import Addition, Additions

CardValues = Sequence[Sequence[Any]]  # for each card extra, its value for each book


@dataclass(frozen=True, kw_only=True)
class Extra(Addition):
    """An addition to a book's page and its JSON. Its subject is the id of a book.

    name: also its key in the template variable ``extras``. fields: returns the fields that the value adds to the
    book's JSON.
    """

    fields: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class CardExtra(Addition):
    """An addition to the cards of a list of books. Its subject is a list of ids, its value has one value for each card.

    add_commands: must read data of a mirror that places books (``listing.sorts``), which is therefore warm whenever the
    list is. parse_replies: gets the reply alone. render: renders a value for a card.
    """

    render: Callable[[Any], SafeString]


page_extras: Final = Additions[Extra]()
card_extras: Final = Additions[CardExtra]()


def join_json(raw: bytes, values: Mapping[str, Any]) -> bytes:
    """Return the record ``raw`` (a non-empty JSON object) with the fields of all extras as one JSON object."""
    more: dict[str, Any] = {}
    for name, value in values.items():
        more.update(page_extras.registered[name].fields(value))
    if not more:
        return raw
    # Joined as bytes: to parse the record and to serialize it again halves the throughput of a JSON page.
    return b"%b,%b" % (raw[:-1], orjson.dumps(more)[1:])


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
    cards = [""] * len(beside[0])
    for extra, values in zip(card_extras.registered.values(), beside, strict=True):
        for n, value in enumerate(values):
            cards[n] += extra.render(value)
    return [mark_safe(card) for card in cards]
