"""Visits of the demo's customers: what they view, and what they order."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from accounts.models import User
from accounts.users import bulk
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES
from demo.shop.items import BOOK_KINDS, Item, find_items, pick_popular
from demo.words.authors import FIRST_NAMES, LAST_NAMES

SEED: Final = "diptych shop"
# In addition to the authors of posts, because pages state a share of readers only from fifty on.
CUSTOMER_COUNT: Final = 260
HISTORY_DAYS: Final = 170


class Visit(NamedTuple):
    """A visit of a customer: the books viewed, each with its time, the books ordered, and the time of the order."""

    user: int
    views: list[tuple[Item, datetime]]
    buys: list[Item]
    ordered: datetime


def _create_customers() -> list[int]:
    """Return the ids of customers: the authors of posts, more generated users, and the demo's shopper."""
    random = Random(SEED)
    names = dict.fromkeys(READER_NAMES)
    while len(names) < len(READER_NAMES) + CUSTOMER_COUNT:
        names[f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}"] = None
    ids = list(bulk.get_or_create_users(names).values())
    shoppers = [name for name, role in ROLES_BY_LOGIN.items() if role == "shopper"]
    ids += User.objects.filter(username__in=shoppers).values_list("pk", flat=True)
    return ids


def invent_visits(now: datetime) -> list[Visit]:
    items = find_items()
    if not items:
        return []
    random = Random(SEED)
    found = []
    for user in _create_customers():
        tastes = _invent_tastes(random, items)
        ages = [random.uniform(1, HISTORY_DAYS) for _ in range(random.randint(2, 5))]
        for days in sorted(ages, reverse=True):
            visit = _invent_visit(random, user, tastes, now - timedelta(days=days))
            # A customer may order days after a visit, but not in the future.
            found.append(visit._replace(ordered=min(visit.ordered, now - timedelta(hours=1))))
    return found


def _invent_tastes(random: Random, items: list[Item]) -> list[list[Item]]:
    """Return the books of two kinds, as far as there are any, and all books."""
    tastes = []
    for kind in random.sample(BOOK_KINDS, 2):
        of_kind = [item for item in items if item.kind == kind]
        if of_kind:
            tastes.append(of_kind)
    return [*tastes, items]


def _invent_visit(random: Random, user: int, tastes: Sequence[Sequence[Item]], at: datetime) -> Visit:
    """Return a visit with views of books that match a customer's tastes.

    The customer buys some of them, often with the next book of the same kind.
    """
    views = []
    buys: dict[Item, None] = {}
    for _ in range(random.randint(3, 6)):
        kind = random.choice(tastes)
        item = pick_popular(random, kind)
        views.append((item, at))
        at += timedelta(seconds=random.randrange(20, 400))
        if random.random() < 0.35:
            buys[item] = None
            # Always the same neighbour (0 and 1, 2 and 3, ...), so that pairs are bought more often than by chance.
            if random.random() < 0.5:
                neighbour = kind.index(item) ^ 1
                buys[kind[min(neighbour, len(kind) - 1)]] = None
    wait = timedelta(minutes=4) if random.random() < 0.7 else timedelta(hours=random.randrange(5, 220))
    return Visit(user, views, list(buys), at + wait)
