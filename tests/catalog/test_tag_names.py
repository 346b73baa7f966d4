"""Aliases of tags, tags that name shelves, and the counts of tags: imported, merged, and shown by Redis and SQL."""

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import construct_change_message
from django.core.management import call_command
from django.db import connection
from django.forms import modelform_factory
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.audit.models import AuditEvent
from accounts.models import User
from catalog.local.index import local_copy
from catalog.models import Book, Tag, TagAlias, Tagging, TagVote
from catalog.names import is_hidden_name
from catalog.selectors import get_book
from catalog.tags import services
from catalog.tags.aliases import find_used
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from tests.support.catalog.goodbooks import books_csv, links_csv, tags_csv, write
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import find_both_ways, own_copy, warm_up

__all__ = ["own_copy"]
Capture = pytest.CaptureFixture[str]
rows = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)
ALIASES = "/admin/catalog/tagalias/"


def load(folder: Path, capsys: Capture) -> dict[str, Any]:
    """Run the import, and return its report."""
    call_command("import_goodbooks", str(folder), "--books-only", "--json")
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def counts(book: Book) -> dict[str, int]:
    """Return the imported counts of a book's tags."""
    return dict(Tagging.objects.filter(book=book).values_list("tag__name", "imported_count"))


def shown(book: Book) -> dict[str, Any]:
    """Return the tags in a book's record, after checking that Redis and SQL give the same record."""
    record = get_book(book.pk)
    with sql_only():
        by_sql = get_book(book.pk)
    assert record is not None
    assert by_sql is not None
    assert record.raw == by_sql.raw
    return {name: record[name] for name in ("tags", "top_tags", "hidden_tags")}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root", password="p"))
    return client


@rows
def test_an_import_counts_readers_and_adds_up_aliases(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of one book may be in several batches."""
    monkeypatch.setattr("catalog.importer.tags.BATCH_SIZE", 2)
    TagAlias.objects.create(name="SF", tag=Tag.objects.create(name="science fiction"))
    tags = tags_csv(("1", "faves"), ("2", "sf"), ("3", "favourites"), ("4", "Favorites"), ("5", "sea"))
    links = links_csv(("101", "1", "7"), ("101", "2", "30"), ("101", "5", "2"), ("101", "3", "5"), ("101", "4", "1"))
    write(tmp_path, books_csv({}), tags, links)
    report = load(tmp_path, capsys)
    assert counts(Book.objects.get()) == {"favorites": 13, "science fiction": 30, "sea": 2}
    assert report["added"]["taggings"] == 3
    assert dict(TagAlias.objects.values_list("name", "tag__name")) == {
        "faves": "favorites", "favourites": "favorites", "sf": "science fiction",
    }  # fmt: skip
    assert set(load(tmp_path, capsys)["added"].values()) == {0}
    assert counts(Book.objects.get()) == {"favorites": 13, "science fiction": 30, "sea": 2}


@rows
def test_an_import_sets_counts_of_existing_tags(tmp_path: Path, capsys: Capture) -> None:
    book = make_book("A Title", tags="sea", goodreads_id=101)
    write(tmp_path, books_csv({}), tags_csv(("1", "sea")), links_csv(("101", "1", "x"), ("101", "1", "40")))
    report = load(tmp_path, capsys)
    assert counts(book) == {"sea": 41}  # an invalid count counts as one reader
    assert report["dirt"]["taggings without a usable count"]["count"] == 1


@rows
def test_an_edited_alias_wins_over_the_shipped_one(tmp_path: Path, capsys: Capture) -> None:
    TagAlias.objects.create(name="faves", tag=Tag.objects.create(name="loved"))
    write(tmp_path, books_csv({}), tags_csv(("1", "faves")), links_csv(("101", "1")))
    load(tmp_path, capsys)
    assert counts(Book.objects.get()) == {"loved": 1}


@rows
def test_an_import_keeps_a_merge_of_tags(tmp_path: Path, capsys: Capture) -> None:
    """Also if staff turn a shipped alias round ("favourites" stands for "favorites")."""
    book = make_book("A Title", tags="sea ocean favorites favourites", goodreads_id=101)
    for old, new in (("ocean", "sea"), ("favorites", "favourites")):
        assert services.merge_tags(Tag.objects.filter(name=old), Tag.objects.get(name=new)) == 1
    tags = tags_csv(("1", "ocean"), ("2", "favorites"), ("3", "favourites"))
    links = links_csv(("101", "1", "7"), ("101", "2", "8"), ("101", "3", "9"))
    write(tmp_path, books_csv({}), tags, links)
    load(tmp_path, capsys)
    assert counts(book) == {"sea": 7, "favourites": 17}
    assert find_used({"ocean"}) == {"ocean": "sea"}


@rows
def test_saving_an_alias_merges_the_tag(staff: Client) -> None:
    """Counts are added up, a reader's two votes become one, and aliases of the old tag stand for the new one."""
    book, other = make_book(tags="sf sci-fi"), make_book(tags="sf")
    Tagging.objects.filter(book=book).update(imported_count=20)
    sf, target = Tag.objects.get(name="sf"), Tag.objects.get(name="sci-fi")
    ann, bob = (User.objects.create(username=name) for name in ("ann", "bob"))
    TagVote.objects.bulk_create(
        TagVote(user=user, book=book, tag=tag) for user, tag in ((ann, sf), (ann, target), (bob, sf))
    )
    TagAlias.objects.create(name="scifi", tag=sf)
    assert staff.post(f"{ALIASES}add/", {"name": "SF", "tag": str(target.pk)}).status_code == 302
    assert not Tag.objects.filter(name="sf").exists()
    assert (counts(book), counts(other)) == ({"sci-fi": 40}, {"sci-fi": 1})
    assert sorted(TagVote.objects.values_list("user__username", "tag__name")) == [("ann", "sci-fi"), ("bob", "sci-fi")]
    assert dict(TagAlias.objects.values_list("name", "tag__name")) == {"sf": "sci-fi", "scifi": "sci-fi"}


@rows
@pytest.mark.parametrize("name", ["sf", "SF "])
def test_an_alias_of_itself_is_refused(staff: Client, name: str) -> None:
    tag = Tag.objects.create(name="sf")
    response = staff.post(f"{ALIASES}add/", {"name": name, "tag": str(tag.pk)})
    assert "Choose a tag with a different name" in response.content.decode()
    assert not TagAlias.objects.exists()


@rows
def test_an_alias_tells_of_the_tag_that_it_merges(staff: Client) -> None:
    make_book(tags="sf"), make_book(tags="sf")
    target = Tag.objects.create(name="sci-fi")
    assert "saving merges it into the tag below" in staff.get(f"{ALIASES}add/").content.decode()
    for name, said in (("sf", True), ("scifi", False)):
        answer = staff.post(f"{ALIASES}add/", {"name": name, "tag": str(target.pk)}, follow=True)
        text = f"The tag “{name}” of 2 books was merged into “sci-fi”."
        assert (text in map(str, answer.context["messages"])) == said
    assert target.books.count() == 2
    # The history of the tag tells of the merge, and only of it.
    (event,) = AuditEvent.objects.filter(model="catalog.tag", object_id=str(target.pk))
    assert "Merged tags: sf." in event.details
    assert "Merged tags: sf." in staff.get(f"/admin/catalog/tag/{target.pk}/history/").content.decode()


@rows
def test_no_tag_gets_the_name_of_an_alias(staff: Client) -> None:
    tag, other = Tag.objects.create(name="robots"), Tag.objects.create(name="droids")
    TagAlias.objects.create(name="fiction", tag=tag)
    for address in ("/admin/catalog/tag/add/", f"/admin/catalog/tag/{other.pk}/change/"):
        page = staff.post(address, {"name": "Fiction"}).content.decode()
        assert "“fiction” is an alias of the tag “robots”." in page
    assert set(Tag.objects.values_list("name", flat=True)) == {"robots", "droids"}
    # An older tag with such a name can still be hidden.
    old = Tag.objects.create(name="fiction")
    assert staff.post(f"/admin/catalog/tag/{old.pk}/change/", {"name": "fiction", "hidden": "on"}).status_code == 302
    old.refresh_from_db()
    assert old.hidden


@rows
def test_actions_take_aliases(staff: Client) -> None:
    book = make_book(tags="sea")
    TagAlias.objects.create(name="fiction", tag=Tag.objects.create(name="robots"))
    chosen = {"_selected_action": str(book.pk), "tag": "Fiction"}
    added = staff.post("/admin/catalog/book/", chosen | {"action": "add_tag"}, follow=True)
    assert "1 book was tagged “robots”." in added.content.decode()
    assert (set(counts(book)), Tag.objects.filter(name="fiction").exists()) == ({"robots", "sea"}, False)
    staff.post("/admin/catalog/book/", chosen | {"action": "remove_tag"})
    assert set(counts(book)) == {"sea"}
    sea = {"_selected_action": str(Tag.objects.get(name="sea").pk), "tag": "fiction", "action": "merge"}
    staff.post("/admin/catalog/tag/", sea)
    assert set(counts(book)) == {"robots"}


@commits
@pytest.mark.usefixtures("own_copy")
def test_a_query_with_an_alias_leads_to_its_tag(client: Client) -> None:
    make_book(tags="robots sea")
    robots = Tag.objects.get(name="robots")
    TagAlias.objects.create(name="fiction", tag=robots)
    TagAlias.objects.create(name="empty", tag=Tag.objects.create(name="on no book"))
    warm_up()
    for given, query in (
        ("fiction", "robots"),
        ("sea - Fiction", "sea - robots"),
        ("fiction | nosuch", "robots | nosuch"),
    ):
        address = f"/books/?{urlencode({'q': given, 'sort': 'title'})}"
        assert client.get(address).headers["Location"] == f"/books/?{urlencode({'q': query, 'sort': 'title'})}"
        with sql_only():
            assert client.get(address).status_code == 302
    assert client.get("/books/?q=fiction", headers={"Accept": "application/json"}, follow=True).json()["count"] == 1
    for given in ("nosuch", "empty", "robots"):
        assert client.get(f"/books/?q={given}").status_code == 200
    with record() as seen:
        client.get("/books/?q=robots")
    assert seen.sql == []


@commits
@pytest.mark.usefixtures("own_copy")
def test_a_merge_shows_at_the_next_request(staff: Client) -> None:
    book = make_book(tags="sf sea")
    target = Tag.objects.create(name="science fiction")
    warm_up()
    staff.post(f"{ALIASES}add/", {"name": "sf", "tag": str(target.pk)})
    assert shown(book)["tags"] == ["science fiction", "sea"]
    assert local_copy.ensure_loaded()
    assert find_both_ways("sf").count == 0


@pytest.mark.parametrize(
    ("name", "is_shelf"),
    [
        *((name, True) for name in ("to-read", "Owned", "owned-books", "default", "read-in-2015", "2015-reads")),
        *((name, True) for name in ("currently-reading", "books-i-own", "my-library", "kindle", "to-read-fiction")),
        *((name, True) for name in ("tbr", "tbr-pile", "to-reread", "classics-to-read", "didn-t-finish", "unfinished")),
        *((name, True) for name in ("on-my-shelf", "bookshelf", "borrowed", "nook", "5-stars", "3-star", "have")),
        *(
            (name, True)
            for name in ("favorites", "all-time-favorites", "favourite-authors", "audio", "adult", "english")
        ),
        *((name, True) for name in ("book-club", "bookclub", "novels", "series", "re-read", "for-school")),
        *((name, False) for name in ("young-adult", "adult-fiction", "audiophile", "english-history", "picture-book")),
        *((name, False) for name in ("1001-books-to-read", "star-wars", "bookshelves-x", "have-a-heart", "5-senses")),
        *((name, False) for name in ("fantasy", "1001-books", "readers", "reading-rainbow-x", "ownership", "defaults")),
        *((name, False) for name in ("must-see", "mythology", "library-science", "1984", "20th-century", "minerals")),
    ],
)
def test_tags_that_name_shelves_are_recognised(name: str, is_shelf: bool) -> None:
    assert is_hidden_name(name) is is_shelf


def test_the_patterns_come_from_the_settings(settings: Settings) -> None:
    settings.CATALOG_HIDDEN_TAGS = ["x.*"]
    assert (is_hidden_name("xyz"), is_hidden_name("to-read")) == (True, False)
    settings.CATALOG_HIDDEN_TAGS = []
    assert not is_hidden_name("xyz")


@rows
def test_new_tags_that_name_shelves_are_hidden(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, books_csv({}), tags_csv(("1", "to-read"), ("2", "sea")), links_csv(("101", "1"), ("101", "2")))
    load(tmp_path, capsys)
    services.add_tag_to_books(Book.objects.all(), "Default")
    assert set(Tag.objects.filter(hidden=True).values_list("name", flat=True)) == {"to-read", "default"}


@rows
def test_an_upgrade_hides_more_tags_but_keeps_what_staff_decided(settings: Settings) -> None:
    """Staff have shown "kindle", which an older pattern hid, and decided about "audio" in the admin."""
    migration = import_module("catalog.migrations.0014_hide_more_tags")
    for name in ("favorites", "english", "audio", "kindle", "fantasy", "novels"):
        Tag.objects.create(name=name)
    form: Any = modelform_factory(Tag, fields=["hidden"])({"hidden": "on"})
    message = construct_change_message(form, [], add=False)
    staff = User.objects.create_superuser("root", password="p")
    LogEntry.objects.log_actions(staff.pk, [Tag.objects.get(name="audio")], CHANGE, message)
    settings.CATALOG_HIDDEN_TAGS = [*settings.CATALOG_HIDDEN_TAGS[:-3], "favorites", "english|audio"]
    migration.hide_tags(apps, SimpleNamespace(connection=connection))
    assert set(Tag.objects.filter(hidden=True).values_list("name", flat=True)) == {"favorites", "english"}


@commits
@pytest.mark.usefixtures("own_copy")
def test_hidden_tags_can_be_queried_but_are_not_listed() -> None:
    """Redis and SQL agree, even if staff hide and show tags while the copy in the process is loaded."""
    books = [make_book(tags="fantasy owned"), make_book(tags="owned sea")]
    Tag.objects.filter(name="owned").update(hidden=True)
    warm_up()
    page = find_both_ways("owned")
    assert page.count == 2
    assert [facet.name for facet in page.facets] == ["fantasy", "sea"]
    assert [facet.name for facet in find_both_ways("").facets] == ["fantasy", "sea"]
    assert shown(books[0]) == {
        "tags": ["fantasy", "owned"], "top_tags": [{"name": "fantasy", "count": 1}], "hidden_tags": ["owned"],
    }  # fmt: skip
    for is_hidden in (False, True):
        tag = Tag.objects.get(name="owned")
        tag.hidden = is_hidden
        tag.save()
        drains.drain_all()
        assert local_copy.ensure_loaded()
        names = [facet.name for facet in find_both_ways("").facets]
        assert names == ["fantasy", "sea"] if is_hidden else ["owned", "fantasy", "sea"]
        assert shown(books[0])["hidden_tags"] == (["owned"] if is_hidden else [])


@commits
@pytest.mark.usefixtures("own_copy")
def test_the_most_frequent_tags_come_first_and_the_rest_is_folded(client: Client) -> None:
    book = make_book(tags=" ".join(f"t{n:02}" for n in range(12)) + " owned")
    Tag.objects.filter(name="owned").update(hidden=True)
    Tagging.objects.filter(tag__name="t11").update(imported_count=1200)
    TagVote.objects.create(user=User.objects.create(username="ann"), book=book, tag=Tag.objects.get(name="t05"))
    warm_up()
    top = shown(book)["top_tags"]
    assert [(tag["name"], tag["count"]) for tag in top[:3]] == [("t11", 1200), ("t05", 2), ("t00", 1)]
    assert len(top) == 10
    html = client.get(book.get_absolute_url()).content.decode()
    assert "owned" not in html
    assert html.index(">t11 <") < html.index(">t05 <") < html.index("<details") < html.index(">t09</a>")
    assert html.index(">t10</a>") > html.index("<details") > html.index(">t08 <")


@rows
def test_staff_list_and_edit_hidden_tags(staff: Client) -> None:
    tags = [Tag.objects.create(name=name, hidden=name == "owned") for name in ("owned", "sea")]
    html = staff.get("/admin/catalog/tag/?hidden__exact=1").content.decode()
    assert "owned" in html
    assert f"/admin/catalog/tag/{tags[1].pk}/" not in html
    staff.post(f"/admin/catalog/tag/{tags[1].pk}/change/", {"name": "sea", "hidden": "on"})
    assert Tag.objects.get(name="sea").hidden
