"""Pages of posts: content, cost, and equal answers from Redis and SQL."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from accounts.models import User
from mirror.redis.clients import breaker
from mirror.redis.recorder import Recording, record
from mirror.relay.sql_only import sql_only
from social.models import Block, Mute, Post
from social.services.posts import create_post, hide_post
from social.template_functions import posts as cards
from tests.support.servers import RedisServer
from tests.support.site.html import find_policy_violations
from tests.support.social.busy_town import COUNT, Town
from tests.support.social.timelines import warm_up

JSON = "application/json"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def town() -> Town:
    return Town()


def _get(client: Client, url: str, accept: str = "text/html", **headers: str) -> tuple[Any, Recording]:
    for _ in range(2):  # load the templates once, and fill the page cache by a second request
        client.get(url, headers={"Accept": accept, **headers})
    with record() as seen:
        response = client.get(url, headers={"Accept": accept, **headers})
    return response, seen


def test_the_page_of_a_post_shows_it(client: Client, town: Town) -> None:
    response, seen = _get(client, town.one)
    html = response.content.decode()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert '<a class="post-author" href="/u/alice/"><bdi>alice</bdi></a>' in html
    assert f'<a href="/books/{town.book.pk}/"><bdi>Emma &amp; &lt;I&gt;</bdi></a>' in html
    assert '<a href="/u/bob/">@bob</a>' in html
    assert '<a href="/tags/emma/">#emma</a>' in html
    assert 'href="https://a.example/?a=1&amp;b=2" rel="nofollow noopener ugc"' in html
    assert "/delete/" not in html


def test_the_json_of_a_post_is_its_record(client: Client, town: Town) -> None:
    response, seen = _get(client, town.one, JSON)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert response.json()["text"].startswith(f"Line {COUNT - 1}")
    assert "Accept" in response.headers["Vary"]


@pytest.mark.parametrize("accept", ["text/html", JSON])
def test_a_missing_post_is_404(client: Client, town: Town, accept: str) -> None:
    for pk in ("987654321", "0", str(2**63), "9" * 40):
        response, seen = _get(client, f"/posts/{pk}/", accept)
        assert (response.status_code, seen.sql) == (404, []), pk


@pytest.mark.parametrize("path", ["/posts/{post}/", "/tags/emma/", "/books/{book}/posts/", "/mentions/"])
@pytest.mark.parametrize("accept", ["text/html", JSON])
def test_pages_take_one_round_trip_for_readers(client: Client, town: Town, path: str, accept: str) -> None:
    """The session is read with what the page read before."""
    client.force_login(town.bob)
    _costs(client, path.format(post=town.posts[-1].pk, book=town.book.pk), accept, 1)


@pytest.mark.parametrize(("accept", "trips"), [("text/html", 1), (JSON, 2)])
def test_the_page_of_a_book_has_a_fixed_cost_for_readers(client: Client, town: Town, accept: str, trips: int) -> None:
    """The view is counted with the reads of the page, but not with those of JSON."""
    client.force_login(town.bob)
    _costs(client, f"/books/{town.book.pk}/", accept, trips)


def _costs(client: Client, url: str, accept: str, trips: int) -> None:
    response, seen = _get(client, url, accept)
    assert response.status_code == 200
    assert seen.sql == []
    assert seen.round_trips == trips


@pytest.mark.parametrize("path", ["/tags/emma/", "/books/{book}/posts/", "/mentions/"])
def test_links_to_next_pages_reach_the_end(client: Client, town: Town, path: str) -> None:
    client.force_login(town.bob)
    url: str | None = path.format(book=town.book.pk)
    found: list[int] = []
    while url:
        said = client.get(url, headers={"Accept": JSON}).json()
        found += [each["id"] for each in said["results"]]
        url = said["next"]
    assert found == [each.pk for each in reversed(town.posts)]


def test_htmx_gets_only_the_older_posts(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    for path in town.lists:
        first = client.get(path).content.decode()
        more = first.split('rel="next" href="')[1].split('"')[0]
        part = client.get(more, headers={"HX-Request": "true"})
        assert "Line 04" in part.content.decode()
        assert "<html" not in part.content.decode()
        assert 'id="posts"' not in part.content.decode()
        assert "HX-Request" in part.headers["Vary"]
        assert "<html" in client.get(more).content.decode()


def test_the_page_of_a_book_shows_the_newest_posts_and_a_link(client: Client, town: Town) -> None:
    response, seen = _get(client, f"/books/{town.book.pk}/")
    html = response.content.decode()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert html.count('<li class="post">') == 5
    assert f'href="/books/{town.book.pk}/posts/"' in html
    assert f'href="/accounts/login/?next=%2Fbooks%2F{town.book.pk}%2F"' in html
    assert "<textarea" not in html


def test_the_composer_on_the_page_of_a_book_posts_about_it(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    html = client.get(f"/books/{town.book.pk}/").content.decode()
    assert f'<input type="hidden" name="book" value="{town.book.pk}">' in html
    given = {"text": "Mine too", "book": town.book.pk, "next": f"/books/{town.book.pk}/"}
    after = client.post("/posts/", given, follow=True).content.decode()
    assert "Mine too" in after.split('id="posts"')[1]


def test_posts_of_a_missing_book_are_404(client: Client) -> None:
    for accept in ("text/html", JSON):
        assert client.get("/books/987654321/posts/", headers={"Accept": accept}).status_code == 404


def _pages(client: Client, town: Town) -> list[Any]:
    urls = [town.one, *town.lists, f"/books/{town.book.pk}/", "/posts/987654321/"]
    keys = (b'name="key"', b"csrfmiddlewaretoken", b'name="csrf')
    return [
        (response.status_code, [line for line in response.content.splitlines() if not any(k in line for k in keys)])
        for url in urls
        for accept in ("text/html", JSON)
        for response in [client.get(url, headers={"Accept": accept})]
    ]


def test_sql_gives_the_same_pages(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    warm = _pages(client, town)
    with sql_only():
        assert _pages(client, town) == warm


def test_sql_gives_the_same_pages_after_redis_was_killed(redis_server: RedisServer, client: Client, town: Town) -> None:
    client.force_login(town.bob)
    warm = _pages(client, town)
    redis_server.kill()
    breaker.reset()
    assert _pages(client, town) == warm


@pytest.mark.parametrize("is_redis_there", [True, False])
def test_a_new_post_is_on_every_page(
    client: Client, redis_server: RedisServer, town: Town, is_redis_there: bool
) -> None:
    client.force_login(town.bob)
    if not is_redis_there:
        redis_server.kill()
        breaker.reset()
    given = {"text": "New: #emma @bob", "book": town.book.pk}
    made = client.post("/posts/", given, headers={"Accept": JSON}).json()
    for path in ("/home/", "/global/", "/u/bob/", *town.lists, f"/books/{town.book.pk}/", f"/posts/{made['id']}/"):
        assert "New: " in client.get(path).content.decode(), path


def _hide(town: Town, client: Client, post_id: int) -> None:
    hide_post(post_id)


def _deactivate(town: Town, client: Client, post_id: int) -> None:
    User.objects.filter(pk=town.alice.pk).update(is_active=False)


def _block(town: Town, client: Client, post_id: int) -> None:
    Block.objects.bulk_create([Block(blocker=town.alice, blocked=town.bob)])


@pytest.mark.parametrize("remove", [_hide, _deactivate, _block])
def test_a_post_disappears_for_each_reason(
    client: Client, town: Town, remove: Callable[[Town, Client, int], None]
) -> None:
    client.force_login(town.bob)
    remove(town, client, town.posts[-1].pk)
    warm_up()
    for accept in ("text/html", JSON):
        assert client.get(town.one, headers={"Accept": accept}).status_code == 404
        with sql_only():
            assert client.get(town.one, headers={"Accept": accept}).status_code == 404


def test_posts_of_muted_authors_have_pages(client: Client, town: Town) -> None:
    Mute.objects.create(user=town.bob, muted=town.alice)
    warm_up()
    client.force_login(town.bob)
    assert client.get(town.one).status_code == 200
    for path in town.lists:
        assert client.get(path, headers={"Accept": JSON}).json()["results"] == []


def test_staff_report_posts_of_others_and_do_not_delete_them(client: Client, town: Town) -> None:
    User.objects.filter(pk=town.bob.pk).update(is_staff=True, is_superuser=True)
    warm_up()
    client.force_login(town.bob)
    page = client.get(town.one).content.decode()
    assert f'href="{town.one}delete/"' not in page
    assert f'href="/report/post/{town.posts[-1].pk}/"' in page
    assert client.post(f"{town.one}delete/").status_code == 404
    assert Post.objects.filter(pk=town.posts[-1].pk).exists()


def test_lists_offer_deletion_of_own_posts_only(client: Client, town: Town) -> None:
    create_post(town.bob.pk, "mine #emma")
    warm_up()
    client.force_login(town.bob)
    html = client.get("/tags/emma/").content.decode()
    assert html.count("/delete/") == 1


def test_pages_have_no_inline_code_and_no_foreign_resources(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    for path in (town.one, *town.lists, f"/books/{town.book.pk}/"):
        found = find_policy_violations(client.get(path).content.decode())
        assert [each for each in found if "https://a.example/" not in each] == []


def test_other_methods_are_refused(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    for path in (town.one, *town.lists):
        assert client.post(path).status_code == 405
    assert client.put("/posts/").status_code == 405


def test_cards_are_cached_by_record_and_language(town: Town) -> None:
    raw = (
        b'{"id":1,"user":{"id":2,"name":"ken","avatar":""},"time":"2026-03-01T12:00:00Z","kind":"post","text":"hi",'
        b'"book":null,"mentions":[]}'
    )
    english = cards.get_card(raw)
    assert cards.get_card(raw) is english
    assert "1 Mar 2026" in english.html
    with translation.override("zh-hans"):
        assert "2026年3月1日" in cards.get_card(raw).html
    assert ">ho<" in cards.get_card(raw.replace(b'"hi"', b'"ho"')).html
