"""The front page of a logged-in reader: its sections, their privacy and their cost."""

import re
from datetime import date
from typing import NamedTuple

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from catalog.local.index import local_copy
from catalog.models import Author, Book
from catalog.readings.services import Position, note_progress
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf, rate_book, set_goal
from config.pages.own import find_own_page
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from shop.book_views import decay
from shop.models import Recommendation
from social.profiles.similar import rebuild_similar_readers
from social.services import people
from social.services.posts import create_post
from tests.support.servers import PATIENCE_SECONDS
from tests.support.shop.make import make_product, make_sale
from tests.support.social.timelines import warm_up
from tests.support.warm_mirrors import catch_up, rebuild

pytestmark = pytest.mark.django_db(transaction=True)
HEADING = re.compile(r"<h2[^>]*>(.*?)</h2>", re.DOTALL)
OWN = ["Continue reading", "Feed", "Reading goal", "Readers with similar taste", "Next in your series"]
OWN.append("Because you read Liked")


class Town(NamedTuple):
    reader: User
    friend: User
    client: Client
    titles: dict[str, int]

    def list_headings(self) -> list[str]:
        page = self.client.get("/").content.decode()
        return [re.sub(r"<[^>]+>", "", text).strip() for text in HEADING.findall(page)]

    def read_page(self) -> str:
        page: str = self.client.get("/").content.decode()
        return re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", page)


@pytest.fixture
def town() -> Town:
    reader, friend = (User.objects.create_user(name) for name in ("rita", "fred"))
    author = Author.objects.create(name="Ann Author")
    names = ["Now", "Liked", "Disliked", "Offered", "Owned", "Refused", "One (Tale, #1)", "Two (Tale, #2)"]
    books = {name: make_product(name).book for name in names}
    for name in ("One (Tale, #1)", "Two (Tale, #2)"):
        books[name].authors.add(author)
    titles = {name: book.pk for name, book in books.items()}
    offered = [[titles["Owned"], 9.0, 9], [titles["Offered"], 8.0, 8]]
    Recommendation.objects.create(product_id=titles["Liked"], bought=offered)
    Recommendation.objects.create(product_id=titles["Disliked"], bought=[[titles["Refused"], 9.0, 9]])
    client = Client()
    client.force_login(reader)
    return Town(reader, friend, client, titles)


def _read_books(town: Town) -> None:
    reader, today = town.reader.pk, timezone.localdate()
    put_on_shelf(reader, town.titles["Now"], Shelf.READING, today)
    note_progress(reader, town.titles["Now"], Position(percent=40), "", today)
    rate_book(reader, town.titles["Liked"], 8, today)
    rate_book(reader, town.titles["Disliked"], 7, today)
    put_on_shelf(reader, town.titles["Owned"], Shelf.WANT, today)
    put_on_shelf(reader, town.titles["One (Tale, #1)"], Shelf.READ, today)
    set_goal(reader, today.year, 12)
    twin = User.objects.create_user("tina").pk
    for name in ("Now", "Liked", "Disliked"):
        put_on_shelf(twin, town.titles[name], Shelf.READ, today)
    rebuild_similar_readers()
    people.follow(reader, town.friend.pk)
    create_post(town.friend.pk, "A post by Fred", book_id=town.titles["Now"])


def _warm_rows() -> None:
    """Prepare what workers and a thread prepare, so that SQL answers nothing."""
    decay.rebuild_popularity()
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)


def test_sections_show_what_the_reader_has_and_equal_those_from_sql(town: Town) -> None:
    rebuild()
    assert not set(OWN) & set(town.list_headings())
    _read_books(town)
    warm_up(town.reader)
    catch_up()
    headings = town.list_headings()
    assert headings[: len(OWN)] == OWN
    _warm_rows()
    with record() as seen:
        own = find_own_page(town.reader.pk, None)
    assert (seen.round_trips, seen.sql) == (5, [])
    assert [book["id"] for book, _ in own.books.reasons[0].books] == [town.titles["Offered"]]
    assert [book["id"] for book, _ in own.books.volumes] == [town.titles["Two (Tale, #2)"]]
    page = town.read_page()
    assert 'value="40"' in page
    for row in ("because-", "next-volumes"):
        assert "€12.50" in page.partition(f'aria-labelledby="{row}')[2].partition("</section>")[0], row
    assert "Refused" not in page.partition("Most read")[0]
    with sql_only():
        assert town.read_page() == page
    put_on_shelf(town.reader.pk, town.titles["Two (Tale, #2)"], Shelf.WANT, date(2026, 1, 1))
    put_on_shelf(town.reader.pk, town.titles["Now"], Shelf.READ, date(2026, 1, 1))
    assert not {"Continue reading", "Next in your series"} & set(town.list_headings())


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_posts_are_as_private_as_on_the_home_timeline(town: Town, way: str) -> None:
    _read_books(town)
    rebuild()
    warm_up(town.reader)
    other = User.objects.create_user("olga")
    create_post(other.pk, "A post by Olga")
    people.set_private(town.friend.pk, is_private=True)

    def shows_post(text: str = "A post by Fred") -> bool:
        catch_up()
        if way == "redis":
            return text in town.read_page()
        with sql_only():
            return text in town.read_page()

    # An approved follower of a private account; a stranger's post is not on the timeline.
    assert shows_post()
    assert not shows_post("A post by Olga")
    people.mute(town.reader.pk, town.friend.pk)
    assert not shows_post()
    people.unmute(town.reader.pk, town.friend.pk)
    assert shows_post()
    people.block(town.friend.pk, town.reader.pk)
    assert not shows_post()
    assert Book.objects.count() == len(town.titles)


def test_posts_with_a_book_come_first_if_there_are_enough(town: Town) -> None:
    _read_books(town)
    rebuild()
    warm_up(town.reader)
    texts = ["A", "B", "C"]
    for text in texts:
        create_post(town.friend.pk, f"Post {text}", book_id=town.titles["Now"])
    for number in range(6):
        create_post(town.friend.pk, f"Chat {number}")
    catch_up()
    _warm_rows()
    with record() as seen:
        posts = find_own_page(town.reader.pk, None).posts.posts
    assert [post["text"] for post in posts] == ["Post C", "Post B", "Post A"]
    assert (seen.round_trips, seen.sql) == (5, [])


def test_visitors_without_a_login_see_no_own_section(town: Town) -> None:
    _read_books(town)
    rebuild()
    town.client.get("/")
    page = Client().get("/").content.decode()
    assert not [heading for heading in OWN if heading in page.partition("</nav>")[2] and heading != "Feed"]
    assert "A post by Fred" in page


def test_the_last_viewed_books_stand_in_the_side_column(town: Town) -> None:
    _read_books(town)
    viewed = [make_product(f"Viewed {number}").book for number in range(4)]
    rebuild()
    for book in viewed:
        town.client.get(f"/books/{book.pk}/")
    column = town.read_page().partition('<div class="column-side">')[2].partition('aria-labelledby="last-viewed"')[2]
    titles = re.findall(r"Viewed \d(?=</a>)", column.partition("</section>")[0])
    assert titles == ["Viewed 3", "Viewed 2", "Viewed 1"]


def test_no_book_stands_twice(town: Town) -> None:
    _read_books(town)
    more = [make_product(f"More {number}").book for number in range(24)]
    second = town.titles["Two (Tale, #2)"]
    rate_book(town.reader.pk, more[0].pk, 10, timezone.localdate())
    ranking = [[book.pk, 20.0 - number, 9] for number, book in enumerate(more[1:13])]
    Recommendation.objects.update_or_create(product_id=more[0].pk, defaults={"bought": [[second, 30.0, 9], *ranking]})
    Recommendation.objects.filter(product_id=town.titles["Liked"]).update(bought=ranking)
    make_sale(*(book.product for book in more[8:20]))
    rebuild()
    town.client.get(f"/books/{more[21].pk}/")
    sections = re.findall(r'aria-labelledby="([a-z0-9-]+)">(.*?)</section>', town.read_page(), re.DOTALL)
    rows = [(name, section) for name, section in sections if '<h3 class="card-title"' in section]
    shown = {name: re.findall(r'<h3[^>]*><a href="([^"]+)"', row) for name, row in rows}
    addresses = [address for row in shown.values() for address in row]
    assert len(set(addresses)) == len(addresses)
    assert {"continue-reading", "last-viewed", "on-sale", "most-viewed"} < set(shown)
    assert [len(row) for name, row in shown.items() if name.startswith("because-")] == [8]
    assert len(shown["next-volumes"]) == 1  # the next volume, which is also recommended
