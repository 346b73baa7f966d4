"""The search page: HTML, JSON, suggestions, costs, and readers that it hides."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book
from catalog.search.models import Document
from catalog.search.selectors import search
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Block
from tests.support.catalog.make import make_book, make_products
from tests.support.search.queries import search_both_ways, shown, warm_search
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"Accept": "application/json"}
STATEMENTS = 20  # statements of a search in SQL, for any number of results


@pytest.fixture(autouse=True)
def shelf() -> None:
    make_book("The Hobbit", authors="J.R.R. Tolkien", tags="fantasy", popularity=9)
    make_book("Hob & <b>Nob</b>", authors="Hob Smith", tags="hob-stories")
    User.objects.create_user("hobart")
    warm_search()


def _ask(text: str, client: Client | None = None) -> dict[str, Any]:
    response = (client or Client()).get("/search/", {"q": text}, headers={"Accept": "application/json"})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def test_the_json_lists_results_best_first(client: Client) -> None:
    found = _ask("hob")
    # A whole word comes before the beginning of another one.
    assert [book["title"] for book in found["books"]] == ["Hob & <b>Nob</b>", "The Hobbit"]
    assert found["books"][0].keys() == {"id", "title", "authors"}
    assert [author["name"] for author in found["authors"]] == ["Hob Smith", "J.R.R. Tolkien"]
    assert found["tags"] == [{"name": "hob-stories"}]
    assert found["readers"] == [{"name": "hobart"}]


@pytest.mark.parametrize("text", ["", " ", "—", "no such thing"])
def test_an_empty_query_finds_nothing(text: str) -> None:
    assert _ask(text) == {"books": [], "authors": [], "tags": [], "readers": [], "count": 0}
    assert Client().get("/search/", {"q": text}).status_code == 200


def test_the_page_shows_results_and_keeps_the_query(client: Client) -> None:
    response = client.get("/search/?q=hob")
    html = response.content.decode()
    assert "Hob &amp; &lt;b&gt;Nob&lt;/b&gt;" in html
    assert "<b>Nob</b>" not in html
    assert 'value="hob"' in html
    assert '>hob stories <span class="count">1</span></a>' in html
    assert "private" in response.headers["Cache-Control"]
    assert {"Accept", "Cookie", "HX-Request"} <= {name.strip() for name in response.headers["Vary"].split(",")}


def test_a_query_is_escaped(client: Client) -> None:
    assert '"><script>' not in client.get("/search/", {"q": '"><script>'}).content.decode()


def test_suggestions_come_from_the_second_letter(client: Client) -> None:
    def suggest(text: str) -> str:
        return client.get("/search/", {"q": text}, headers={"HX-Request": "true"}).content.decode()

    assert suggest("h").strip() == ""
    assert 'role="option"' in suggest("ho")
    assert "<svg" in suggest("ho")
    assert "<html" not in suggest("ho")


def test_every_page_has_the_search_box(client: Client) -> None:
    for address in ("/", "/books/", "/accounts/login/", "/no-such-page/"):
        assert 'action="/search/"' in client.get(address).content.decode(), address


def test_an_anonymous_search_takes_three_round_trips_and_no_sql(client: Client) -> None:
    client.get("/search/?q=hobit")
    with record() as seen:
        response = client.get("/search/?q=hobit")
    assert "The Hobbit" in response.content.decode()
    assert (seen.round_trips, seen.sql) == (3, [])


def test_authors_stand_in_one_line_and_the_query_in_quotation_marks(client: Client) -> None:
    html = client.get("/search/?q=tolkien").content.decode()
    author = Book.objects.get(title="The Hobbit").authors.get()
    assert f'<p>Authors: <a href="/authors/{author.pk}/"><bdi>J.R.R. Tolkien</bdi></a></p>' in html
    assert "<h1>Results for “<bdi>tolkien</bdi>”</h1>" in html
    chinese = client.get("/search/?q=tolkien", headers={"Accept-Language": "zh-Hans"}).content.decode()
    assert "<h1>搜索结果：<bdi>tolkien</bdi></h1>" in chinese


def test_a_search_in_sql_takes_a_bounded_number_of_statements() -> None:
    for n in range(30):
        make_book(f"Hobbit {n}", authors=f"Author {n}", tags=f"hobbit-{n}")
    with sql_only():
        _ask("hobbit")
    with record() as seen, sql_only():
        assert len(_ask("hobbit")["books"]) == 20
    assert len(seen.sql) <= STATEMENTS


def test_a_block_hides_both_from_each_other_at_once(client: Client) -> None:
    hobart, ann = User.objects.get(), User.objects.create_user("ann")
    drain_all()
    client.force_login(ann)
    other = Client()
    other.force_login(hobart)
    assert _ask("hobart", client)["readers"] == [{"name": "hobart"}]
    assert _ask("ann", other)["readers"] == [{"name": "ann"}]
    Block.objects.bulk_create([Block(blocker=ann, blocked=hobart)])
    for drain in (False, True):
        if drain:
            drain_all()
        with sql_only():
            assert _ask("hobart", client)["readers"] == []
            assert _ask("ann", other)["readers"] == []
    assert _ask("hobart", client)["readers"] == []
    assert _ask("ann", other)["readers"] == []
    assert _ask("hobart")["readers"] == [{"name": "hobart"}]


def test_an_inactive_reader_is_not_named_even_by_an_index_that_is_behind() -> None:
    User.objects.update(is_active=False)
    drain_all()
    Document.objects.create(id=f"r{User.objects.get().pk}", text="", weight=0, keys=["r:hobart"])
    drain_all()
    assert _ask("hobart")["readers"] == []
    with sql_only():
        assert _ask("hobart")["readers"] == []


def test_sql_answers_alike_without_redis(redis_server: RedisServer) -> None:
    warm_search()
    before = {text: _ask(text) for text in ("hob", "tolkein", "fantasy", "hobart")}
    redis_server.kill()
    assert {text: _ask(text) for text in before} == before
    make_book("A Hobgoblin")
    assert [book["title"] for book in _ask("hobgoblin")["books"]] == ["A Hobgoblin"]


def test_a_hanging_redis_costs_one_time_out(redis_server: RedisServer, settings: Settings) -> None:
    warm_search()
    with hung(redis_server):
        breaker.reset()
        assert [book["title"] for book in _ask("hobbit")["books"]][:1] == ["The Hobbit"]


def test_an_emptied_redis_is_noticed(redis_server: RedisServer) -> None:
    warm_search()
    redis_server.client().flushall()
    assert [book["title"] for book in _ask("hobbit")["books"]][:1] == ["The Hobbit"]


def test_cards_show_the_same_as_in_lists_of_books(client: Client) -> None:
    make_products(Book.objects.all())
    warm_search()
    assert [len(values) for values in search_both_ways("hob").card_values] == [2]
    with sql_only():
        by_sql = client.get("/search/?q=hob").content
    assert b"price" in by_sql
    assert client.get("/search/?q=hob").content == by_sql


def test_all_books_that_match_are_counted_paged_and_filtered(client: Client) -> None:
    for n in range(1, 46):
        make_book(f"Salt {n} (Salt, #{n})", authors="Ann Sea", popularity=n, language="eng" if n % 2 else "fre")
    make_book("Salted Pepper")
    make_products(Book.objects.filter(title__startswith="Salt"))
    warm_search()
    html = client.get("/search/?q=salt").content.decode()
    assert 'Books <span class="muted">46</span>' in html
    assert "Page 1 of 3" in html
    seen: list[str] = []
    for page in (1, 2, 3, 4):  # a page that does not exist is the last one
        found = search("salt", page=page)
        with sql_only():
            assert shown(search("salt", page=page)) == shown(found)
        assert found.count == 46
        seen += [book["title"] for book in found.books] if page < 4 else []
    assert sorted(seen) == sorted(Book.objects.filter(title__startswith="Salt").values_list("title", flat=True))
    assert seen[:3] == ["Salt 1 (Salt, #1)", "Salt 2 (Salt, #2)", "Salt 3 (Salt, #3)"]
    listed = client.get("/books/", {"words": "salt", "language": "fr", "sort": "title"}, headers=JSON).json()
    assert listed["count"] == 22
    with sql_only():
        by_sql = client.get("/books/", {"words": "salt", "language": "fr", "sort": "title"}, headers=JSON).json()
    assert by_sql == listed
    html = client.get("/books/", {"words": "salt", "sort": "title"}).content.decode()
    assert "“salt”" in html
    assert '<input type="hidden" name="words" value="salt">' in html


def test_readers_are_named_only_if_they_are_asked_for(client: Client) -> None:
    def find(text: str) -> tuple[bool, bool]:
        html = client.get("/search/", {"q": text}).content.decode()
        return 'id="found-readers"' in html, 'id="found-books"' in html

    assert find("hobart") == (False, False)
    assert find("hob") == (False, True)
    assert find("@hobart") == (True, False)
    assert find("＠hobart") == (True, False)
    suggested = client.get("/search/", {"q": "hobart", "box": "find"}, headers={"HX-Request": "true"}).content.decode()
    assert "Reader" not in suggested
    assert 'id="find-r' in client.get("/search/?q=@hobart&box=find", headers={"HX-Request": "true"}).content.decode()


def test_nothing_found_offers_popular_books_and_a_correction(client: Client) -> None:
    nothing = client.get("/search/?q=zzzz+qqqq").content.decode()
    assert ">Most read</h2>" in nothing
    assert "Request this book" in nothing
    mistyped = client.get("/search/?q=hobit").content.decode()
    assert "Similar books" in mistyped
    assert "Request this book" in mistyped
    assert ">hobbit</a>" in mistyped
