"""Mentions of readers in a text."""

from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef

from accounts.models import User
from social.models import Block
from social.tokens import names_in, tokenise

MOST: Final = 20  # mentioned readers per text
CANDIDATES: Final = 600  # names looked up per text; a text of 500 characters has no more


class Mentioned(NamedTuple):
    """A mentioned user, and the name as the text spells it."""

    id: int
    name: str


class _Person(NamedTuple):
    id: int
    is_away: bool  # inactive, or one of the two has blocked the other


def mentioned_in(text: str, author: int) -> list[Mentioned]:
    """Return the first ``MOST`` users that ``text`` mentions as ``@name``, each once.

    The longest existing name wins. Inactive users are left out, and so are users with a block between them and the
    author. Takes at most 1 query.
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
    """Return the users with these folded names, by folded name."""
    blocks = Block.objects.filter(blocker_id=OuterRef("pk"), blocked_id=author)
    blocked = Block.objects.filter(blocked_id=OuterRef("pk"), blocker_id=author)
    rows = User.objects.filter(name_key__in=names).annotate(is_cut_off=Exists(blocks) | Exists(blocked))
    values = rows.values_list("name_key", "pk", "is_active", "is_cut_off")
    return {name: _Person(pk, not is_active or is_cut_off) for name, pk, is_active, is_cut_off in values}
