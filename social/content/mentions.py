"""Mentions of readers in a text.

They are found once, when the text is posted, and stored with their spelling, so that a card needs no query. A muted
author's mention stays: a missing link would reveal the mute.
"""

from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef

from accounts.models import User
from social.content.tokens import find_names, tokenise
from social.models import Block

MAX_MENTIONS: Final = 20  # mentioned readers per text
MAX_CANDIDATES: Final = 600  # names looked up per text; a text of 500 characters has no more


class MentionedUser(NamedTuple):
    """A mentioned user, and the name as the text spells it."""

    id: int
    name: str


class _Candidate(NamedTuple):
    id: int
    is_away: bool  # inactive, or one of the two has blocked the other


def find_mentions(text: str, author: int) -> list[MentionedUser]:
    """Return the first ``MOST`` users that ``text`` mentions as ``@name``, each once.

    The longest existing name wins. Inactive users are left out, and so are users with a block between them and the
    author. Takes at most 1 query.
    """
    candidates = find_names(text)[:MAX_CANDIDATES]
    if not candidates:
        return []
    people, found = _find_candidates(candidates, author), dict[int, str]()
    # Read a second time: the longest existing name is known only after the query.
    for token in tokenise(text, people.__contains__):
        if token.kind == "mention" and not people[token.folded].is_away:
            found.setdefault(people[token.folded].id, token.value)
    return [MentionedUser(pk, name) for pk, name in found.items()][:MAX_MENTIONS]


def _find_candidates(names: list[str], author: int) -> dict[str, _Candidate]:
    """Return the users with these folded names, by folded name."""
    blocks = Block.objects.filter(blocker_id=OuterRef("pk"), blocked_id=author)
    blocked = Block.objects.filter(blocked_id=OuterRef("pk"), blocker_id=author)
    rows = User.objects.filter(name_key__in=names).annotate(is_cut_off=Exists(blocks) | Exists(blocked))
    values = rows.values_list("name_key", "pk", "is_active", "is_cut_off")
    return {name: _Candidate(pk, not is_active or is_cut_off) for name, pk, is_active, is_cut_off in values}
