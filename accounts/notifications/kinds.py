"""The kinds of notifications. Applications register theirs in ``AppConfig.ready``, so this one does not know them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from django.utils.functional import Promise

from accounts.notifications.models import Way

HiddenRule = Callable[[int, Collection[int]], set[int]]  # from a reader and users to the hidden ones among them


class Detail(NamedTuple):
    """What a notification is about. path: its page. title: for the sentence. quote: a text to show below it."""

    path: str
    title: str = ""
    quote: str = ""


FindDetails = Callable[[int, Sequence[int]], Mapping[int, Detail]]  # from a reader and targets, with readers of mirrors


@dataclass(frozen=True)
class Kind:
    """A kind of notifications.

    label: on the page of preferences. sentence: with %(people)s, the readers of the group, and %(title)s, both if the
    kind has them. find_details: returns the details of those targets that the reader may see. has_people: whether
    readers caused it. ways: those that a reader can choose; the first one is the default.
    """

    name: str
    label: Promise
    sentence: Promise
    find_details: FindDetails
    has_people: bool = True
    ways: Sequence[Way] = field(default=(Way.SITE, Way.EMAIL, Way.WEEKLY, Way.OFF))


_kinds: Final[dict[str, Kind]] = {}
_hidden_rules: Final[list[HiddenRule]] = []


def register(kind: Kind) -> None:
    """Add a kind. Pages list kinds in the order of their registration."""
    _kinds[kind.name] = kind


def register_hidden(rule: HiddenRule) -> None:
    """Add a rule that hides users (blocked and muted ones) from a reader's notifications."""
    _hidden_rules.append(rule)


def list_kinds() -> list[Kind]:
    """Return all kinds."""
    return list(_kinds.values())


def find_kind(name: str) -> Kind | None:
    """Return the kind with a name; None if only newer code knows it."""
    return _kinds.get(name)


def list_hidden_rules() -> Sequence[HiddenRule]:
    """Return the rules that hide users."""
    return _hidden_rules
