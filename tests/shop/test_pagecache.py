"""Book pages come from the page cache, equal uncached pages and are up to date."""

from collections.abc import Callable
from itertools import product as product_of

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import override_settings
from redis import Redis

from accounts.models import User
from accounts.sessions.engine import SessionStore
from mirror import middleware as own_writes
from mirror.outbox import changes
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop import keys
from shop.book_views import popularity
from shop.models import Product
from shop.pagecache import middleware, store
from social.models import Post
from tests.support.fixtures import RECHECK_SECONDS
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.make import make_product, make_sale
from tests.support.shop.page_cache import (
    WITHOUT,
    Made,
    cached_pages,
    get_page,
    made,
    page_path,
    product,
    warm_page_mirrors,
    without_tokens,
)

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_page_is_rendered_once_and_served_to_everyone(product: Product, made: Made, server: RedisServer) -> None:
    for _ in range(3):
        assert "The Book of Sand" in get_page(Client(), page_path(product))
    assert len(made) == len(cached_pages(server)) == 1


def test_a_process_without_a_copy_reads_the_cache_server(product: Product, made: Made) -> None:
    first = get_page(Client(), page_path(product))
    store.clear_copies()
    assert without_tokens(get_page(Client(), page_path(product))) == without_tokens(first)
    assert len(made) == 1


@pytest.mark.parametrize("who", ["nobody", "alice", "staff"])
def test_a_page_is_equal_with_and_without_the_cache(product: Product, made: Made, who: str) -> None:
    """In two languages and themes, at two addresses."""
    Post.objects.create(user=User.objects.create_user("bob"), book=product.book, text="Endless.")
    one = Client()
    if who != "nobody":
        one.force_login(User.objects.create_user(who, is_staff=who == "staff"))
    warm_page_mirrors()
    # The forms of a stored page return to the address without unknown parameters.
    queries = [""] if who == "nobody" else ["", "?utm_source=mail&a=1"]
    for language, theme, query in product_of(["en", "zh-hans"], ["", "dark"], queries):
        one.cookies["theme"] = theme
        address, headers = page_path(product) + query, {"Accept-Language": language}
        with override_settings(MIDDLEWARE=WITHOUT):
            plainly = again(one).get(address, headers=headers)
        for served in (again(one).get(address, headers=headers), again(one).get(address, headers=headers)):
            assert without_tokens(served.content.decode()) == without_tokens(plainly.content.decode())
            assert headers_of(served) == headers_of(plainly) | {"Cache-Control": "private, no-cache"}
    # One for each language and theme, whatever the other parameters are.
    assert made.paths == [page_path(product)] * (4 if who == "nobody" else 0)


def again(client: Client) -> Client:
    """Return a second client with the same cookies."""
    same = Client()
    same.cookies = client.cookies
    return same


def headers_of(response: object) -> dict[str, str]:
    """Return the headers without the request's id, with lists of values in a fixed order."""
    found = dict(response.headers)  # type: ignore[attr-defined]
    for name in ("X-Request-ID", "ETag", "Content-Length"):
        found.pop(name, None)
    found["Vary"] = ", ".join(sorted(found["Vary"].split(", ")))
    found["Content-Security-Policy"] = "; ".join(sorted(found["Content-Security-Policy"].split("; ")))
    return found


def test_an_anonymous_visitor_takes_one_round_trip_without_sql_or_session(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the rank and what the page was made of, and counts the view."""
    for _ in range(2):
        get_page(Client(), page_path(product))
    monkeypatch.delattr(SessionStore, "load")
    with record() as seen:
        response = Client().get(page_path(product))
    assert (seen.round_trips, seen.sql) == (1, [])
    assert set(response.cookies) == {"csrftoken"}  # for the form of the buy box


def test_a_logged_in_user_takes_one_round_trip(product: Product) -> None:
    """It includes the user's own reads and the counted view, because the user is known from the last page."""
    Post.objects.create(user=User.objects.create_user("bob"), book=product.book, text="Endless.")
    other, page = make_product("The Book of Stone"), page_path(product)
    alice = Client()
    alice.force_login(User.objects.create_user("alice"))
    warm_page_mirrors()
    for path in (page_path(other), page):
        get_page(alice, path)
    for _ in range(2):
        with record() as seen:
            assert "alice" in get_page(alice, page)
    assert (seen.round_trips, seen.sql) == (1, [])


def change_price(product: Product) -> None:
    Product.objects.filter(pk=product.pk).update(price=990)


def change_price_by_hand(product: Product) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE shop_product SET price = 990 WHERE book_id = %s", [product.pk])


def begin_sale(product: Product) -> None:
    make_sale(product, price=990)


@pytest.mark.parametrize("change", [change_price, change_price_by_hand, begin_sale])
def test_a_price_shows_at_once_though_the_page_is_cached(
    product: Product, made: Made, change: Callable[[Product], None]
) -> None:
    for _ in range(2):
        assert "€12.50" in get_page(Client(), page_path(product))
    change(product)
    drain_all()
    assert "€9.90" in get_page(Client(), page_path(product))
    assert len(made) == 2


def test_the_stock_shows_at_once(product: Product, made: Made) -> None:
    get_page(Client(), page_path(product))
    Product.objects.filter(pk=product.pk).update(stock=2)
    drain_all()
    assert "Only 2 left" in get_page(Client(), page_path(product))
    assert len(made) == 2


def test_a_title_and_a_tag_show_at_once(product: Product, made: Made) -> None:
    get_page(Client(), page_path(product))
    book = product.book
    type(book).objects.filter(pk=book.pk).update(title="The Book of Stone")
    book.tags.all().update(name="sand")
    drain_all()
    page = get_page(Client(), page_path(product))
    assert "The Book of Stone" in page
    assert "The Book of Sand" not in page
    assert "q=sand" in page
    assert "fantasy" not in page
    assert len(made) == 2


def test_a_change_and_its_reversal_show_the_old_page_again(product: Product) -> None:
    """No state in between is shown, whatever the cache holds for that version."""
    books = type(product.book).objects.filter(pk=product.pk)
    for title in ("The Book of Sand", "Other", "The Book of Sand", "Other"):
        books.update(title=title)
        drain_all()
        assert f'<h1 dir="auto">{title}</h1>' in get_page(Client(), page_path(product))


def test_a_deleted_book_is_not_found_and_its_views_do_not_count(product: Product, redis: Redis) -> None:
    get_page(Client(), page_path(product))
    product.book.delete()
    drain_all()
    assert Client().get(page_path(product)).status_code == 404
    counted = redis.zscore(keys.popularity(), str(product.pk))
    for number in range(3):
        Client(headers={"User-Agent": f"browser {number}"}).get(page_path(product))
    assert redis.zscore(keys.popularity(), str(product.pk)) == counted


def test_a_new_post_and_its_deletion_show_at_once(product: Product, made: Made) -> None:
    for _ in range(2):
        get_page(Client(), page_path(product))
    post = Post.objects.create(user=User.objects.create_user("bob"), book=product.book, text="Endless.")
    drain_all()
    for _ in range(2):
        assert "Endless." in get_page(Client(), page_path(product))
    post.delete()
    drain_all()
    assert "Endless." not in get_page(Client(), page_path(product))
    assert len(made) == 3


def test_authors_see_their_own_write_before_redis_has_it(product: Product) -> None:
    writer, other = Client(), Client()
    for client in (writer, other):
        get_page(client, page_path(product))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE shop_product SET price = 990 WHERE book_id = %s", [product.pk])
    writer.cookies[own_writes.COOKIE] = str(changes.newest_unapplied())
    assert "€9.90" in get_page(writer, page_path(product))
    assert "€12.50" in get_page(other, page_path(product))


@pytest.mark.parametrize(
    ("before", "is_cached"), [(popularity.MAX_CACHED_RANK - 1, True), (popularity.MAX_CACHED_RANK, False)]
)
def test_only_the_ten_thousand_most_viewed_books_are_cached(
    product: Product, made: Made, redis: Redis, server: RedisServer, before: int, is_cached: bool
) -> None:
    redis.zadd(keys.popularity(), {f"other {n}": -5 for n in range(before)})
    get_page(Client(headers={"User-Agent": "a bot"}), page_path(product))
    assert bool(cached_pages(server)) == bool(made) == is_cached


def test_a_book_without_views_is_not_cached(product: Product, made: Made, redis: Redis) -> None:
    redis.delete(keys.popularity())
    get_page(Client(headers={"User-Agent": "a bot"}), page_path(product))
    assert len(made) == 0


def test_an_uncached_page_takes_at_most_one_more_round_trip(product: Product, redis: Redis) -> None:
    """It reads the rank of the book."""
    robot, trips = Client(headers={"User-Agent": "a bot"}), []
    for names in (WITHOUT, settings.MIDDLEWARE):
        redis.delete(keys.popularity())
        with override_settings(MIDDLEWARE=names):
            get_page(robot, page_path(product))
            with record() as seen:
                get_page(robot, page_path(product))
        trips.append(seen.round_trips)
    assert trips[1] <= trips[0] + 1


def test_each_served_page_counts_as_a_view(product: Product, redis: Redis) -> None:
    for number in range(3):
        get_page(Client(headers={"User-Agent": f"browser {number}"}), page_path(product))
    assert redis.zscore(keys.popularity(), str(product.pk)) == -6
    Client(headers={"User-Agent": "other"}).head(page_path(product))
    get_page(Client(headers={"User-Agent": "browser 2"}), page_path(product))
    assert redis.zscore(keys.popularity(), str(product.pk)) == -6


def test_unknown_parameters_share_the_cached_page(product: Product, made: Made) -> None:
    for query in ("", "?utm_source=mail", "?a=1&b=2", "?a=" + "x" * 500):
        assert "The Book of Sand" in get_page(Client(), page_path(product) + query)
    assert len(made) == 1


def test_forms_of_a_reader_return_to_the_requested_address(product: Product) -> None:
    alice = Client()
    alice.force_login(User.objects.create_user("alice"))
    warm_page_mirrors()
    for client, count in ((Client(), 0), (alice, 2)):
        page = get_page(client, page_path(product) + "?from=a+letter")
        assert page.count(f'name="next" value="{page_path(product)}?from=a+letter"') == count


def test_an_unchanged_page_is_not_sent_again(product: Product) -> None:
    """The tag of the page belongs to the visitor's token, too."""
    client, other = Client(), Client()
    get_page(client, page_path(product))
    tag = client.get(page_path(product))["ETag"]
    again = client.get(page_path(product), headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert other.get(page_path(product), headers={"If-None-Match": tag}).status_code == 200
    Product.objects.filter(pk=product.pk).update(stock=2)
    drain_all()
    assert client.get(page_path(product), headers={"If-None-Match": tag}).status_code == 200


def test_a_page_that_was_just_checked_needs_no_round_trip(
    product: Product, monkeypatch: pytest.MonkeyPatch, made: Made
) -> None:
    """A change shows after half a second."""
    assert 0 < RECHECK_SECONDS <= 0.5
    monkeypatch.setattr(middleware, "RECHECK_SECONDS", 3600.0)
    path = f"{page_path(product)}posts/"
    for _ in range(2):
        get_page(Client(), path)
    with record() as seen:
        page = get_page(Client(), path)
    assert (seen.round_trips, seen.sql) == (0, [])
    assert "Endless." not in page
    Post.objects.create(user=User.objects.create_user("bob"), book=product.book, text="Endless.")
    drain_all()
    assert "Endless." not in get_page(Client(), path)
    monkeypatch.setattr(middleware, "RECHECK_SECONDS", RECHECK_SECONDS)
    wait_until(lambda: "Endless." in get_page(Client(), path), "the new post")
    assert made.paths == [path, path]


def test_each_host_and_scheme_has_its_own_page(product: Product, made: Made) -> None:
    with override_settings(ALLOWED_HOSTS=["one.example", "two.example"]):
        for host in ("one.example", "two.example"):
            for secure in (False, True):
                assert Client(headers={"Host": host}).get(page_path(product), secure=secure).status_code == 200
        assert Client(headers={"Host": "three.example"}).get(page_path(product)).status_code == 400
    assert len(made) == 4


def test_a_head_request_is_answered_like_a_get(product: Product, made: Made) -> None:
    client = Client()
    get, head = client.get(page_path(product)), client.head(page_path(product))
    assert (head.status_code, head.content) == (200, b"")
    assert headers_of(head) == headers_of(get)
    assert len(made) == 1


@pytest.mark.parametrize(
    "headers", [{"Accept": "application/json"}, {"HX-Request": "true"}, {"HX-Request": "true", "HX-Boosted": "true"}]
)
def test_json_and_htmx_requests_are_not_cached(product: Product, made: Made, headers: dict[str, str]) -> None:
    assert Client().get(page_path(product), headers=headers).status_code == 200
    assert len(made) == 0


@override_settings(DEBUG=True)
def test_explain_bypasses_the_page_cache(product: Product, made: Made) -> None:
    get_page(Client(), page_path(product))
    assert "round trip" in get_page(Client(), page_path(product) + "?explain=1")
    assert "round trip" not in get_page(Client(), page_path(product))
    assert len(made) == 1


def test_other_methods_are_refused_as_without_the_cache(product: Product, made: Made) -> None:
    assert Client().post(page_path(product)).status_code == 405
    assert len(made) == 0


def test_a_cold_mirror_disables_the_cache(product: Product, made: Made, redis: Redis) -> None:
    get_page(Client(), page_path(product))
    redis.flushdb()
    product.book.title = "Changed"
    product.book.save()
    assert "Changed" in get_page(Client(), page_path(product))
    assert len(made) == 1


def test_two_books_have_two_pages(product: Product, made: Made, redis: Redis) -> None:
    other = make_product("The Book of Stone")
    drain_all()
    redis.zadd(keys.popularity(), {str(other.pk): -3})
    for _ in range(2):
        for one, title in ((product, "The Book of Sand"), (other, "The Book of Stone")):
            assert f'<h1 dir="auto">{title}</h1>' in get_page(Client(), page_path(one))
    assert len(made) == 2
