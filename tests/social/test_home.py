"""The home timeline as a selector: from complete, cut, cold and unreachable windows, and with pulled authors."""

from functools import partial

import pytest
from redis import Redis

from accounts.models import User
from mirror.redis.clients import breaker
from mirror.relay import drains, send
from social import keys
from social.models import Block, Follow, Mute, Post, Pulled
from social.selectors import get_home_timeline
from social.timelines import home
from social.timelines.pages import PAGE_SIZE
from tests.support.social.timelines import (
    Timeline,
    follow,
    ids_of,
    make_posts,
    make_users,
    measure_cost,
    newest_first,
    raw_posts,
    read_all_ids,
    read_pages,
    warm_up,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
    pytest.mark.also_on("cluster"),
]


def of(reader: User) -> Timeline:
    return partial(get_home_timeline, reader.pk)


def pull(author: User) -> None:
    """Make an author pulled, without adding it to the followers' sets first."""
    Pulled.objects.create(user=author, state=Pulled.State.ON)


def gone(posts: list[Post]) -> None:
    """Delete posts and their records, but keep their ids in all windows."""
    pks = [post.pk for post in posts]
    Post.objects.filter(pk__in=pks).delete()
    drains.drain_keys("post", list(map(str, pks)))


def test_a_page_takes_two_round_trips(alice: User) -> None:
    bob, carol, dora = make_users("bob", "carol", "dora")
    follow(alice, bob, carol)
    said = make_posts(bob, 15) + make_posts(alice, 2) + make_posts(carol, 10)
    make_posts(dora, 3)
    warm_up(alice)
    assert measure_cost(partial(of(alice), None)) == (2, 0)
    page = get_home_timeline(alice.pk)
    assert ids_of(page) == newest_first(said)[:PAGE_SIZE]
    assert (page.newest, page.after) == (said[-1].pk, newest_first(said)[PAGE_SIZE - 1])
    assert measure_cost(partial(of(alice), page.after)) == (2, 0)
    assert read_all_ids(of(alice)) == newest_first(said)


@pytest.mark.parametrize("count", [0, 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE, 2 * PAGE_SIZE + 1])
def test_the_last_page_has_no_successor(alice: User, count: int) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, count)
    warm_up(alice)
    found = read_pages(of(alice))
    assert [len(page.posts) for page in found] == [PAGE_SIZE] * (max(count - 1, 0) // PAGE_SIZE) + [
        count - max(count - 1, 0) // PAGE_SIZE * PAGE_SIZE
    ]
    assert read_all_ids(of(alice)) == newest_first(said)


@pytest.mark.parametrize("count", [29, 30, 31, 39, 40, 41, 75])
@pytest.mark.usefixtures("small_windows")
def test_sql_continues_below_a_cut_window(alice: User, count: int) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, count)
    warm_up(alice)
    assert measure_cost(partial(of(alice), None)) == (2, 0)
    assert read_all_ids(of(alice)) == newest_first(said)


def test_sql_answers_for_a_cold_window_which_is_warmed_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, 25)
    warm_up()
    asked = []

    def warm(mirror: str, owner: str) -> bool:
        asked.append((mirror, owner))
        return True

    monkeypatch.setattr(send, "warm", warm)
    assert read_all_ids(of(alice)) == newest_first(said)
    assert asked == [("timeline", str(alice.pk))]
    cold = read_pages(of(alice))
    warm_up(alice)
    assert raw_posts(read_pages(of(alice))) == raw_posts(cold)


def test_sql_returns_the_same_bytes_without_redis(alice: User) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    make_posts(bob, 25)
    warm_up(alice)
    found = read_pages(of(alice))
    breaker.failed()
    assert raw_posts(read_pages(of(alice))) == raw_posts(found)
    assert measure_cost(partial(of(alice), None)) == (0, 7)


@pytest.fixture
def star(alice: User) -> User:
    """Create a pulled author that alice follows, with pushed and pulled posts between those of bob."""
    bob, star = make_users("bob", "star")
    follow(alice, bob, star)
    make_posts(star, 9), make_posts(bob, 9)
    pull(star)
    for _ in range(9):
        make_posts(star, 3, is_pulled=True), make_posts(bob, 2)
    make_posts(star, 30, is_pulled=True)
    return star


def shown_to(reader: User, *authors: str) -> list[int]:
    return newest_first(list(Post.objects.filter(user__username__in=authors)))


def test_pulled_posts_are_merged_without_duplicates(alice: User, star: User) -> None:
    warm_up(alice)
    assert read_all_ids(of(alice)) == shown_to(alice, "bob", "star")
    assert measure_cost(partial(of(alice), None)) == (2, 0)


def test_cached_pulled_authors_save_a_round_trip_and_are_verified(alice: User, star: User) -> None:
    warm_up(alice)
    assert measure_cost(partial(of(alice), None)) == (3, 0)
    assert measure_cost(partial(of(alice), None)) == (2, 0)
    Follow.objects.filter(followee=star).delete()
    drains.drain_all()
    warm_up(alice)
    assert measure_cost(partial(of(alice), None)) == (3, 0)
    assert measure_cost(partial(of(alice), None)) == (2, 0)
    assert read_all_ids(of(alice)) == shown_to(alice, "bob")


@pytest.mark.usefixtures("small_windows")
def test_pulled_posts_below_the_floor_come_from_sql(alice: User, star: User) -> None:
    make_posts(make_users("carol")[0], 5)
    warm_up(alice)
    assert read_all_ids(of(alice)) == shown_to(alice, "bob", "star")


@pytest.mark.parametrize(
    ("model", "one", "other"), [(Block, "blocker", "blocked"), (Block, "blocked", "blocker"), (Mute, "user", "muted")]
)
def test_blocked_and_muted_pulled_authors_are_left_out(
    alice: User, star: User, model: type[Block] | type[Mute], one: str, other: str
) -> None:
    model.objects.create(**{one: alice, other: star})
    warm_up(alice)
    assert read_all_ids(of(alice)) == shown_to(alice, "bob")


def test_sql_answers_for_readers_of_too_many_pulled_authors(
    alice: User, star: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up(alice)
    monkeypatch.setattr(home, "MAX_PULLED_AUTHORS", 0)
    for _ in range(2):  # the process does not rely on the authors that it read before
        assert measure_cost(partial(of(alice), None)) == (2, 1)
    assert read_all_ids(of(alice)) == shown_to(alice, "bob", "star")


def test_deleted_posts_in_a_window_are_skipped(alice: User) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, 60)
    warm_up(alice)
    before = ids_of(get_home_timeline(alice.pk))
    gone(said[30:33] + said[45:50] + said[:1])
    left = said[1:30] + said[33:45] + said[50:]
    assert set(before) - set(ids_of(get_home_timeline(alice.pk)))
    assert read_all_ids(of(alice)) == newest_first(left)
    gone(left)
    assert read_pages(of(alice))[0].after is None


@pytest.mark.parametrize("left", [0, 5, PAGE_SIZE, PAGE_SIZE + 1])
def test_long_runs_of_deleted_posts_are_scanned_in_bounded_steps(alice: User, left: int) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, left + 200)
    warm_up(alice)
    gone(said[left:])
    assert read_all_ids(of(alice)) == newest_first(said[:left])


def test_after_the_last_step_the_page_has_a_cursor(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("social.timelines.pages.FURTHER_IDS", ())
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, 60)
    warm_up(alice)
    gone(said[10:])
    page = get_home_timeline(alice.pk)
    assert (page.posts, page.after, page.newest) == ([], said[60 - PAGE_SIZE - 4].pk, 0)
    found = read_pages(of(alice))
    assert [pk for page in found for pk in ids_of(page)] == newest_first(said[:10])
    assert found[-1].after is None


def test_hidden_posts_and_inactive_authors_never_appear(alice: User) -> None:
    bob, carol = make_users("bob", "carol")
    follow(alice, bob, carol)
    said, other = make_posts(bob, 30), make_posts(carol, 10)
    warm_up(alice)
    Post.objects.filter(pk=said[7].pk).update(is_hidden=True)
    User.objects.filter(pk=carol.pk).update(is_active=False)
    drains.drain_all()
    assert read_all_ids(of(alice)) == newest_first(said[:7] + said[8:])
    assert other


def test_pages_do_not_shift_while_posts_arrive(alice: User) -> None:
    bob = make_users("bob")[0]
    follow(alice, bob)
    said = make_posts(bob, 50)
    warm_up(alice)
    first = get_home_timeline(alice.pk)
    make_posts(bob, 30)
    warm_up()
    assert ids_of(first) + ids_of(get_home_timeline(alice.pk, first.after)) == newest_first(said)[: 2 * PAGE_SIZE]


def test_reading_renews_a_window_about_once_a_day(alice: User, redis: Redis) -> None:
    follow(alice, bob := make_users("bob")[0])
    make_posts(bob, 3)
    warm_up(alice)
    key = keys.timeline(alice.pk)
    redis.expire(key, home.RENEW_BELOW_SECONDS + 1000)
    get_home_timeline(alice.pk)
    assert redis.ttl(key) <= home.RENEW_BELOW_SECONDS + 1000
    redis.expire(key, home.RENEW_BELOW_SECONDS - 1000)
    get_home_timeline(alice.pk)
    assert redis.ttl(key) > home.RENEW_BELOW_SECONDS
    assert measure_cost(partial(of(alice), None)) == (2, 0)
