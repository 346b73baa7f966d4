"""Notifications as a reader's page shows them, after checking that SQL says the same."""

from accounts.models import User
from accounts.notifications import selectors
from accounts.notifications.pages.sentences import write_sentence
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify

KINDS = ("mention", "reply", "like", "review", "follow")
MIRRORS = [*(f"notified_{kind}" for kind in KINDS), "notification"]


def read_all(user: User) -> list[selectors.Shown]:
    """Return all notifications of a reader, without draining."""
    page = selectors.get_page(user.pk)
    found = page.notifications
    while page.after:
        page = selectors.get_page(user.pk, page.after)
        found = [*found, *page.notifications]
    return found


def read_both_ways(user: User) -> tuple[list[selectors.Shown], int]:
    """Return a reader's notifications and the number of unread ones, from Redis and, equal, from SQL."""
    from_redis = read_all(user), selectors.count_unread(user.pk)
    with sql_only():
        assert (read_all(user), selectors.count_unread(user.pk)) == from_redis
    return from_redis


def read_sentences(user: User) -> list[str]:
    """Drain all changes, and return the sentences of a reader's notifications, the latest first."""
    drain_all()
    assert verify([*MIRRORS, "notified_decision"]) == []
    return [write_sentence(shown) for shown in read_both_ways(user)[0]]
