"""Compare every page and every window with lists computed from plain rows."""

from collections.abc import Iterable
from functools import partial

from mirror.redis.clients import relay_client
from mirror.relay.sql_only import sql_only
from mirror.verify import runs
from mirror.windows import window
from mirror.windows.declare import MAKING, SENTINEL, WHOLE, WindowMirror
from social import selectors
from tests.support.social import town
from tests.support.social.naive import Facts, facts
from tests.support.social.town import Page


def pages(me: int, truth: Facts, other: int | None = None) -> dict[str, Page]:
    """Return every page that ``me`` can read, by name. With ``other``, only that user's profile is included."""
    books = {post.book_id for post in truth.posts if post.book_id}
    tags = {name for name, _ in truth.tagged}
    people = truth.names if other is None else [other]
    found: dict[str, Page] = {
        "home": partial(selectors.get_home_timeline, me),
        "global": partial(selectors.get_global_timeline, me),
        "mentions": partial(selectors.get_mentions_of, me),
    }
    found |= {f"book {pk}": partial(selectors.get_posts_about, pk, me) for pk in books}
    found |= {f"tag {name}": partial(selectors.get_posts_tagged, name, me) for name in tags}
    return found | {f"by {pk}": partial(selectors.get_posts_by, pk, me) for pk in people}


def expected(me: int, truth: Facts) -> dict[str, list[int]]:
    """Return the ids that these pages should list."""
    found = {"home": truth.home(me), "global": truth.everything(me), "mentions": truth.speaking_to(me)}
    found |= {f"book {pk}": truth.about(pk, me) for pk in {p.book_id for p in truth.posts} if pk}
    found |= {f"tag {name}": truth.with_tag(name, me) for name, _ in truth.tagged}
    return found | {f"by {pk}": truth.profile(pk, me) for pk in truth.names}


def check_everything(mirror: WindowMirror) -> None:
    """Check all pages of all active users at rest: as is, from SQL alone, warm, and cold; and verify Redis."""
    truth, redis = facts(), relay_client()
    everybody = sorted(truth.active)
    _compare(everybody, truth, "as it is")
    with sql_only():
        _compare(everybody, truth, "without Redis")
    check_windows(mirror, truth.names, truth)
    differences = runs.verify(town.MIRRORS, redis=redis)
    assert not differences, "; ".join(map(str, differences[:5]))
    for who in everybody:
        assert window.warm(mirror, str(who)), f"the window of {who} could not be warmed"
    _compare(everybody, truth, "warm")
    check_windows(mirror, everybody, truth, all_of_them=True)
    differences = runs.verify(town.MIRRORS, redis=redis)
    assert not differences, "; ".join(map(str, differences[:5]))
    window.cool(mirror, map(str, everybody), redis)
    _compare(everybody, truth, "cold", only=("home",))


def check_windows(mirror: WindowMirror, owners: Iterable[int], truth: Facts, *, all_of_them: bool = False) -> None:
    """Check that each warm window holds the delivered posts from its floor upwards, or all posts if it is complete."""
    redis, pulled = relay_client(), {post.pk: post.user_id for post in truth.posts if post.is_pulled}
    for who in owners:
        if who not in truth.active:
            continue
        found = {m.decode(): int(s) for m, s in redis.zrange(mirror.record_key(str(who)), 0, -1, withscores=True)}
        sentinel = found.pop(SENTINEL, None)
        assert not all_of_them or sentinel is not None, f"the window of {who} is cold"
        if sentinel in (None, MAKING):
            continue
        assert all(member == str(score) for member, score in found.items())
        ids = sorted(found.values(), reverse=True)
        floor = 0 if sentinel == WHOLE else min(ids, default=2**63)
        assert len(ids) <= mirror.length
        should = [pk for pk in truth.home(who) if pulled.get(pk, who) == who and pk >= floor]
        assert ids == should, f"the window of {who} (sentinel {sentinel})"


def _compare(people: Iterable[int], truth: Facts, how: str, only: Iterable[str] = ()) -> None:
    texts = {post.pk: (post.text, post.user_id) for post in truth.posts}
    for me in people:
        should = expected(me, truth)
        for name, page in pages(me, truth).items():
            if not only or name in only:
                posts = town.read_all_posts(page)
                assert [post["id"] for post in posts] == should[name], f"{name} of {me}, {how}"
                for post in posts:
                    text, author = texts[post["id"]]
                    assert (post["text"], post["user"]["id"]) == (text, author)
                    assert post["user"]["name"] == truth.names[author]
                    assert (post.tally.likes, post.tally.is_liked) == truth.likes_of(post["id"], me), (
                        f"{name} of {me}, {how}"
                    )
                    assert post.tally.replies == len(truth.replies_to(post["id"])), f"{name} of {me}, {how}"
