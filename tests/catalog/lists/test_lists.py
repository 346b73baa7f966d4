"""Readers' own lists: changes in any order, the pages, and who sees a list."""

import re
from contextlib import nullcontext
from datetime import date
from random import Random
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from catalog import keys
from catalog.lists import selectors, services
from catalog.lists.models import ListedBook, Order, ReadingList
from catalog.lists.services import ListDraft
from catalog.models import Book
from catalog.shelves.models import Privacy
from catalog.shelves.services import BookNotFound
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import hints
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.services import people
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]

JSON = {"Accept": "application/json"}
HTMX = {"HX-Request": "true"}
TODAY = date(2026, 5, 4)
SEEN = {
    "owner": set(Privacy),
    "follower": {Privacy.PUBLIC, Privacy.FOLLOWERS},
    "stranger": {Privacy.PUBLIC},
    "anonymous": {Privacy.PUBLIC},
    "blocked": set(),
    "blocking": set(),
}


@pytest.fixture
def books() -> list[Book]:
    return Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(30))


def read_pages(list_id: int) -> list[int]:
    """Return the books on all pages of a list, and check their numbers."""
    fields = selectors.get_list(list_id)
    assert fields
    found, after = [], ""
    while True:
        page = selectors.find_list_page(fields, after)
        found += [(placed.place, placed.book["id"]) for placed in page.books]
        if page.after is None:
            assert page.total == len(found)
            assert [place for place, _ in found] == list(range(1, len(found) + 1))
            return [book for _, book in found]
        after = page.after


def test_lists_equal_python_lists_after_any_changes(books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "GAP", 4)  # so that positions are spread again and again
    reader = User.objects.create(username="Rita")
    made = [services.create_list(reader.pk, ListDraft(f"List {n}")) for n in range(2)]
    rebuild()
    random = Random("lists")
    expected: dict[int, list[int]] = {one.pk: [] for one in made}
    for _ in range(150):
        pk, book = random.choice(made).pk, random.choice(books).pk
        ids = expected[pk]
        match random.choice(("add", "add", "move", "move", "remove")):
            case "add":
                services.add_book(reader.pk, pk, book, TODAY)
                ids += [book] if book not in ids else []
            case "remove":
                assert services.remove_book(reader.pk, pk, book) == (book in ids)
                ids[:] = [one for one in ids if one != book]
            case "move" if book in ids:
                place = random.randrange(1, len(ids) + 3)
                services.move_book(reader.pk, pk, book, place)
                ids.remove(book)
                ids.insert(place - 1, book)
    drain_all()
    with record() as seen:
        assert {pk: read_pages(pk) for pk in expected} == expected
        with_book = {book.pk: selectors.find_lists_with(reader.pk, book.pk) for book in books}
    assert seen.sql == []
    assert with_book == {book.pk: {pk for pk, ids in expected.items() if book.pk in ids} for book in books}
    with sql_only():
        assert {pk: read_pages(pk) for pk in expected} == expected
    services.change_list(reader.pk, made[0].pk, ListDraft("Newest first", order=Order.ADDED))
    drain_all()
    by_addition = ListedBook.objects.filter(reading_list=made[0]).order_by("-pk")
    assert read_pages(made[0].pk) == list(by_addition.values_list("book_id", flat=True))
    # The covers of the overview, for all lists together
    for answered_by in (nullcontext, sql_only):
        with answered_by(), record() as seen:
            found = selectors.find_lists(reader.pk, set(Privacy), has_books=True)
        firsts = {one.fields["id"]: [book["id"] for book in one.first_books] for one in found}
        assert firsts == {one.pk: read_pages(one.pk)[: selectors.MAX_COVERS] for one in made}
        assert answered_by is sql_only or (seen.round_trips, seen.sql) == (5, [])
    assert verify(["reading_list", "listed_book"]) == []


def test_limits_and_missing_rows(books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_LISTS", 1)
    monkeypatch.setattr(services, "MAX_BOOKS", 1)
    reader, other = (User.objects.create(username=name) for name in ("Rita", "Otto"))
    made = services.create_list(reader.pk, ListDraft("One"))
    assert services.create_list(reader.pk, ListDraft("One")) == made
    with pytest.raises(services.TooMany):
        services.create_list(reader.pk, ListDraft("Two"))
    for _ in range(2):
        services.add_book(reader.pk, made.pk, books[0].pk, TODAY)
    with pytest.raises(services.TooMany):
        services.add_book(reader.pk, made.pk, books[1].pk, TODAY)
    services.remove_book(reader.pk, made.pk, books[0].pk)
    with pytest.raises(BookNotFound):
        services.add_book(reader.pk, made.pk, 10**9, TODAY)
    for change in (services.add_book, services.move_book, services.remove_book):
        with pytest.raises(services.ListNotFound):
            arguments = [TODAY] if change == services.add_book else [1] if change == services.move_book else []
            change(other.pk, made.pk, books[0].pk, *arguments)
    assert not services.delete_list(other.pk, made.pk)
    assert not ListedBook.objects.exists()


def test_a_private_list_does_not_become_a_public_one_with_its_name() -> None:
    reader = User.objects.create(username="reader")
    made = services.create_list(reader.pk, ListDraft("Gifts"))
    client = Client()
    client.force_login(reader)
    answer = client.post("/lists/", {"name": "Gifts", "privacy": "me"})
    assert (answer.status_code, "Choose another name." in answer.content.decode()) == (400, True)
    services.change_list(reader.pk, made.pk, ListDraft("Gifts", privacy=Privacy.ME))
    # The menu of a book sends no privacy.
    for given in ({"privacy": "me"}, {}):
        assert client.post("/lists/", {"name": "Gifts", **given}).headers["Location"] == f"/lists/{made.pk}/"


def test_no_list_is_made_for_a_missing_book() -> None:
    client = Client()
    client.force_login(User.objects.create(username="reader"))
    assert client.post("/lists/", {"name": "Winter", "book": 10**9}).status_code == 404
    assert not ReadingList.objects.exists()


def test_reader_makes_changes_and_deletes_a_list(books: list[Book]) -> None:
    client, reader = Client(), User.objects.create(username="Rita")
    rebuild()
    client.force_login(reader)
    drain_all()
    one, two = books[0].pk, books[1].pk
    menu = f"/lists/with/{one}/"
    assert 'name="name"' in client.get(menu).content.decode()
    text = client.post("/lists/", {"name": " Winter\x07 <b>reads</b> ", "book": one}, headers=HTMX).content.decode()
    made = ReadingList.objects.get()
    assert made.name == "Winter <b>reads</b>"
    assert "Winter &lt;b&gt;reads&lt;/b&gt;" in text
    assert 'aria-pressed="true"' in text
    address, change = f"/lists/{made.pk}/", f"/lists/{made.pk}/books/"
    assert client.post(change, {"action": "add", "book": two}).headers["Location"] == f"{address}#book-{two}"
    client.post(change, {"action": "up", "book": two})
    assert [found["book"]["id"] for found in client.get(address, headers=JSON).json()["results"]] == [two, one]
    client.post(change, {"action": "down", "book": two})
    moved = client.post(change, {"action": "move", "book": two, "place": 1}, headers=JSON)
    assert moved.json() == {"list": made.pk, "book": two, "place": 1}
    assert (
        'aria-pressed="false"' in client.post(change, {"action": "remove", "book": one}, headers=HTMX).content.decode()
    )
    refused = client.post(f"/lists/{made.pk}/change/", {"name": "x" * 101, "description": "kept"})
    assert refused.status_code == 400
    assert "kept" in refused.content.decode()
    fields = {"name": "Spring", "description": "a\r\nb", "privacy": "followers", "order": "added"}
    client.post(f"/lists/{made.pk}/change/", fields)
    assert client.get("/lists/", headers=JSON).json()["results"] == [
        {"id": made.pk, "count": 1, **fields, "description": "a\nb"}
    ]
    assert "Spring" in client.get(f"/lists/{made.pk}/delete/").content.decode()
    client.post(f"/lists/{made.pk}/delete/")
    assert client.get(address).status_code == 404
    assert not ReadingList.objects.exists()


def test_removals_and_deletions_are_undone(books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    """With places, additions and the address; once, by their reader only, and without books that are gone."""
    client, other, reader = Client(), Client(), User.objects.create(username="Rita")
    made = services.create_list(reader.pk, ListDraft("Winter", "Cold", privacy=Privacy.FOLLOWERS))
    for book in books[:5]:
        services.add_book(reader.pk, made.pk, book.pk, TODAY)
    services.move_book(reader.pk, made.pk, books[4].pk, 2)
    rebuild()
    client.force_login(reader)
    other.force_login(User.objects.create(username="Otto"))
    drain_all()
    change, undo = f"/lists/{made.pk}/books/", f"/lists/{made.pk}/undo/"

    def state() -> list[list[dict[str, Any]]]:
        models: list[Any] = [ReadingList, ListedBook]
        return [list(model.objects.order_by("pk").values()) for model in models]

    def find_snapshot(text: str) -> str:
        found = re.search('name="snapshot" value="([^"]+)"', text)
        assert found
        return found[1]

    before = state()
    removal = {"action": "remove", "book": books[4].pk, "next": f"/lists/{made.pk}/"}
    for headers in ({}, HTMX):
        shown = client.post(change, removal, headers=headers, follow=not headers).content.decode()
        snapshot = find_snapshot(shown)
        assert ListedBook.objects.count() == 4
        for _ in range(2):
            given = {"snapshot": snapshot, "book": books[4].pk}
            text = client.post(undo, given, headers=headers, follow=not headers).content.decode()
            assert "Undone." in text
            assert state() == before
        assert ('tabindex="-1" autofocus>Undone.' in text) == (headers == HTMX)
    answer = client.post(f"/lists/{made.pk}/delete/", headers=JSON).json()
    assert client.get(f"/lists/{made.pk}/").status_code == 404
    assert other.post(undo, {"snapshot": answer["undo"]}, headers=JSON).status_code == 400
    assert client.post(f"/lists/{made.pk + 1}/undo/", {"snapshot": answer["undo"]}, headers=JSON).status_code == 400
    assert client.post(undo, {"snapshot": answer["undo"][:-1]}, headers=JSON).status_code == 400
    monkeypatch.setattr("catalog.lists.undo.MAX_LISTS", 0)
    assert client.post(undo, {"snapshot": answer["undo"]}, headers=JSON).status_code == 400
    assert state() == [[], []]
    monkeypatch.undo()
    for _ in range(2):
        assert client.post(undo, {"snapshot": answer["undo"]}, headers=JSON).json() == {"id": made.pk}
        assert state() == before
    drain_all()
    assert verify(["reading_list", "listed_book"]) == []
    shown = client.post(f"/lists/{made.pk}/delete/", follow=True).content.decode()
    books[0].delete()
    people.set_private(reader.pk, is_private=True)
    ReadingList.objects.all().delete()
    client.post(undo, {"snapshot": find_snapshot(shown)})
    assert read_pages(made.pk) == [books[n].pk for n in (4, 1, 2, 3)]
    client.post(f"/lists/{made.pk}/change/", {"name": "Winter", "privacy": "public"})
    assert ReadingList.objects.get().privacy == Privacy.FOLLOWERS


class Lists:
    """Olga's three lists with one book, each with another privacy, and readers with all relations to her."""

    def __init__(self) -> None:
        names = ("owner", "follower", "stranger", "blocked", "blocking")
        self.people = {name: User.objects.create(username=f"Olga {name}") for name in names}
        self.owner = self.people["owner"]
        self.book = Book.objects.create(title="A book")
        self.made = {}
        for level in Privacy:
            made = services.create_list(self.owner.pk, ListDraft(f"A secret of {level.value}!", privacy=level))
            services.add_book(self.owner.pk, made.pk, self.book.pk, TODAY)
            self.made[level] = made
        for name in ("follower", "blocked", "blocking"):
            people.follow(self.people[name].pk, self.owner.pk)
        people.block(self.owner.pk, self.people["blocked"].pk)
        people.block(self.people["blocking"].pk, self.owner.pk)
        rebuild()
        drain_all()

    def client(self, name: str) -> Client:
        client = Client()
        if name in self.people:
            client.force_login(self.people[name])
            drain_all()
        return client

    def seen_by(self, client: Client) -> list[set[Privacy]]:
        """Return the lists that are visible on each page."""
        addresses = ["/u/Olga%20owner/lists/", f"/books/{self.book.pk}/"]
        own = [f"/lists/{made.pk}/" for made in self.made.values()]
        pages = [*([one] for one in addresses), own]
        found = []
        for page in pages:
            text = "".join(client.get(one, headers=h).content.decode() for one in page for h in ({}, JSON))
            found.append({level for level in Privacy if f"A secret of {level.value}!" in text})
        return found


@pytest.mark.parametrize("answered_by", ["Redis", "SQL"])
def test_visitors_see_the_lists_that_they_may_see(answered_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists()
    clients = {name: lists.client(name) for name in SEEN}
    with sql_only() if answered_by == "SQL" else nullcontext():
        for name, levels in SEEN.items():
            public = levels & {Privacy.PUBLIC}
            assert lists.seen_by(clients[name]) == [levels, public, levels], name
    if answered_by == "SQL":
        return
    # No relay runs and the heartbeat has expired, so Redis still has the old state.
    monkeypatch.setattr(hints, "flush", lambda: None)
    ReadingList.objects.filter(privacy=Privacy.PUBLIC).update(privacy=Privacy.ME)
    relay_client().delete(naming.heartbeat())
    assert lists.seen_by(clients["stranger"]) == [set()] * 3
    monkeypatch.undo()
    User.objects.filter(pk=lists.owner.pk).update(is_active=False)
    drain_all()
    assert lists.seen_by(clients["follower"]) == [set()] * 3
    left = [keys.lists_of(lists.owner.pk)]
    for made in lists.made.values():
        left += [keys.reading_list(made.pk), keys.books_by_position(made.pk)]
    assert [key for key in left if relay_client().exists(key)] == []
