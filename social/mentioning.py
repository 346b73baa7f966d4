"""Whom a text speaks to."""

from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef

from accounts.models import User
from social.models import Block
from social.tokens import names_in, tokenise

MOST: Final = 20  # people in one text
CANDIDATES: Final = 600  # names that are looked for; a text of 500 characters has no more


class Mentioned(NamedTuple):
    """A user, and how the text names them."""

    id: int
    name: str


class _Person(NamedTuple):
    id: int
    is_away: bool  # inactive, or one of the two has blocked the other


def mentioned_in(text: str, author: int) -> list[Mentioned]:
    """The first people whom ``text`` mentions by ``@`` and their name, each once: the longest name that is somebody's.

    Not those who are inactive, nor those who have blocked the author or whom the author has blocked. 1 query, or none.
    """
    candidates = names_in(text)[:CANDIDATES]
    if not candidates:
        return []
    people, found = _people(candidates, author), dict[int, str]()
    for token in tokenise(text, people.__contains__):
        if token.kind == "mention" and not people[token.folded].is_away:
            found.setdefault(people[token.folded].id, token.value)
    return [Mentioned(pk, name) for pk, name in found.items()][:MOST]


def _people(names: list[str], author: int) -> dict[str, _Person]:
    """Who has one of these names, by name."""
    blocks = Block.objects.filter(blocker_id=OuterRef("pk"), blocked_id=author)
    blocked = Block.objects.filter(blocked_id=OuterRef("pk"), blocker_id=author)
    rows = User.objects.filter(name_key__in=names).annotate(is_cut_off=Exists(blocks) | Exists(blocked))
    values = rows.values_list("name_key", "pk", "is_active", "is_cut_off")
    return {name: _Person(pk, not is_active or is_cut_off) for name, pk, is_active, is_cut_off in values}
