"""The number of new posts since a page was rendered: each once, late ones too, never the reader's own."""

import pytest
from django.test import Client

from accounts.models import User
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from social.models import Post, Pulled
from social.selectors import MAX_NEW_POSTS, count_new_posts, get_home_timeline
from social.timelines.pages import PAGE_SIZE
from tests.support.social.timelines import follow, ids_of, make_posts, make_users, measure_cost, warm_up

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_remembered")]
JSON, HTMX = {"Accept": "application/json"}, {"HX-Request": "true"}


@pytest.fixture
def bob(alice: User) -> User:
    bob = make_users("bob")[0]
    follow(alice, bob)
    return bob


def since_page(reader: User) -> tuple[int, list[int]]:
    page = get_home_timeline(reader.pk)
    return page.newest, ids_of(page)


def count(reader: User, page: tuple[int, list[int]]) -> int:
    """Return the selector's count, after a comparison with SQL's."""
    warm_up(reader)
    found = count_new_posts(reader.pk, *page)
    with sql_only():
        assert count_new_posts(reader.pk, *page) == found
    return found


def late(author: User, below: int) -> Post:
    """Create a post with a low id, as if its transaction had been committed late."""
    Post.objects.filter(pk=below - 1).delete()
    return Post.objects.create(pk=below - 1, user=author, text="late")


@pytest.mark.parametrize("shown", [0, 1, PAGE_SIZE - 1, PAGE_SIZE, 3 * PAGE_SIZE])
@pytest.mark.parametrize("arrived", [0, 1, 2, 50])
def test_each_new_post_is_counted_once(alice: User, bob: User, shown: int, arrived: int) -> None:
    make_posts(bob, shown)
    warm_up(alice)
    page = since_page(alice)
    make_posts(bob, arrived)
    assert count(alice, page) == arrived
    assert count(alice, since_page(alice)) == 0


def test_a_count_takes_one_round_trip_and_two_with_new_posts(alice: User, bob: User) -> None:
    make_posts(bob, 30)
    warm_up(alice)
    page = since_page(alice)
    assert measure_cost(lambda: count_new_posts(alice.pk, *page)) == (1, 0)
    make_posts(bob)
    warm_up(alice)
    assert measure_cost(lambda: count_new_posts(alice.pk, *page)) == (2, 0)


def test_a_count_without_redis_takes_three_queries(alice: User, bob: User) -> None:
    make_posts(bob, 30)
    with sql_only():
        page = since_page(alice)
        assert measure_cost(lambda: count_new_posts(alice.pk, *page)) == (0, 1)
        make_posts(bob)
        assert measure_cost(lambda: count_new_posts(alice.pk, *page)) == (0, 3)


def test_own_posts_are_not_counted(alice: User, bob: User) -> None:
    page = since_page(alice)
    make_posts(alice, 3)
    make_posts(bob, 1)
    assert count(alice, page) == 1


def test_posts_of_unfollowed_authors_are_not_counted(alice: User, bob: User) -> None:
    page = since_page(alice)
    make_posts(make_users("carol")[0], 3)
    assert count(alice, page) == 0


@pytest.mark.parametrize("more", [3, PAGE_SIZE])
def test_late_commits_are_counted(alice: User, bob: User, more: int) -> None:
    carol = make_users("carol")[0]
    stranger = make_posts(carol)[0]
    said = make_posts(bob, more)
    warm_up(alice)
    page = since_page(alice)
    Post.objects.filter(pk=said[2].pk).delete()
    late(bob, below=said[3].pk if more > 3 else stranger.pk + 1)
    page = page[0], [pk for pk in page[1] if pk != said[2].pk]
    assert count(alice, page) == 1


def test_posts_below_the_page_are_not_counted(alice: User, bob: User) -> None:
    stranger = make_posts(make_users("carol")[0])[0]
    make_posts(bob, PAGE_SIZE)
    warm_up(alice)
    page = since_page(alice)
    late(bob, below=stranger.pk + 1)
    assert count(alice, page) == 0


def test_deleted_posts_in_the_window_are_not_counted(alice: User, bob: User) -> None:
    page = since_page(alice)
    said = make_posts(bob, 2)
    warm_up(alice)
    gone = str(said[0].pk)
    said[0].delete()
    drains.drain_keys("post", [gone])
    assert count_new_posts(alice.pk, *page) == 1


def test_deleting_a_shown_post_hides_no_new_one(alice: User, bob: User) -> None:
    said = make_posts(bob, PAGE_SIZE)
    warm_up(alice)
    page = since_page(alice)
    said[5].delete()
    make_posts(bob)
    assert count(alice, page) == 1


def test_pulled_posts_are_counted(alice: User, bob: User) -> None:
    Pulled.objects.create(user=bob, state=Pulled.State.ON)
    make_posts(bob, 2, is_pulled=True)
    warm_up(alice)
    page = since_page(alice)
    make_posts(bob, 3, is_pulled=True)
    assert count(alice, page) == 3


def test_counting_stops_at_a_maximum(alice: User, bob: User, client: Client) -> None:
    make_posts(bob, MAX_NEW_POSTS + 30)
    assert count(alice, (0, [])) == MAX_NEW_POSTS
    client.force_login(alice)
    assert f"{MAX_NEW_POSTS} or more" in client.get("/home/new/?since=0", headers=HTMX).content.decode()


def test_the_bar_links_to_new_posts(alice: User, bob: User, client: Client) -> None:
    make_posts(bob)
    client.force_login(alice)
    warm_up(alice)
    bar = client.get("/home/new/?since=0", headers=HTMX)
    assert "1 new post<" in bar.content.decode()
    assert 'href="/home/"' in bar.content.decode()
    make_posts(bob)
    warm_up()
    assert "2 new posts<" in client.get("/home/new/?since=0", headers=HTMX).content.decode()
    assert client.get("/home/new/?since=0", headers=JSON).json() == {"count": 2}


def test_the_page_contains_the_address_to_poll(alice: User, bob: User, client: Client) -> None:
    said = make_posts(bob, 2)
    client.force_login(alice)
    warm_up(alice)
    page = client.get("/home/").content.decode()
    url = f"/home/new/?since={said[1].pk}&amp;seen={said[1].pk},{said[0].pk}"
    assert f'data-poll="10" hx-get="{url}"' in page
    assert client.get(url.replace("&amp;", "&"), headers=HTMX).content.strip() == b""
    assert "data-poll" not in client.get(f"/home/?after={said[1].pk}").content.decode()


def test_a_poll_takes_one_round_trip_with_the_session(alice: User, bob: User, client: Client) -> None:
    make_posts(bob, 3)
    client.force_login(alice)
    warm_up(alice)
    newest, seen = since_page(alice)
    url = f"/home/new/?since={newest}&seen={','.join(map(str, seen))}"
    client.get(url, headers=HTMX)
    assert measure_cost(lambda: client.get(url, headers=HTMX)) == (1, 0)


@pytest.mark.parametrize(
    "query", ["", "since=x", "since=-1&seen=-1", f"since={10**30}", "since=1&seen=,,x,%00", "seen=5"]
)
def test_invalid_ids_are_ignored(alice: User, bob: User, client: Client, query: str) -> None:
    make_posts(bob)
    client.force_login(alice)
    warm_up(alice)
    for headers in (JSON, HTMX):
        assert client.get(f"/home/new/?{query}", headers=headers).status_code == 200


def test_visitors_must_log_in_and_browsers_get_the_timeline(alice: User, client: Client) -> None:
    assert client.get("/home/new/", headers=JSON).status_code == 401
    assert client.get("/home/new/", headers=HTMX).status_code == 401
    assert client.get("/home/new/").headers["Location"].startswith("/accounts/login/")
    client.force_login(alice)
    assert client.get("/home/new/").headers["Location"] == "/home/"
    assert client.post("/home/new/").status_code == 405
