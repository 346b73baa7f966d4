"""Books, authors and tags in the admin: the site shows changes by staff at the next request."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from catalog.models import Author, Book, Tag, TagVote
from mirror.redis.recorder import record
from tests.support.catalog.make import NO_DETAILS, make_book
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

BOOKS, AUTHORS, TAGS = "/admin/catalog/book/", "/admin/catalog/author/", "/admin/catalog/tag/"
rows = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staff(client: Client, request: pytest.FixtureRequest) -> Client:
    request.getfixturevalue("db")
    client.force_login(User.objects.create_superuser("carol"))
    return client


def act(staff: Client, path: str, action: str, pks: list[int], tag: str = "") -> str:
    """Run an action on rows, and return the resulting page."""
    asked = {"action": action, "_selected_action": [str(pk) for pk in pks], "tag": tag, "index": "0"}
    response = staff.post(path, asked, follow=True)
    assert response.status_code == 200
    return str(response.content.decode())


def names(book: Book) -> set[str]:
    return set(book.tags.values_list("name", flat=True))


@rows
@pytest.mark.parametrize("path", [BOOKS, AUTHORS, TAGS, BOOKS + "add/", AUTHORS + "add/", TAGS + "add/"])
def test_all_pages_open(staff: Client, path: str) -> None:
    make_book(tags="a", authors="Ann")
    assert staff.get(path).status_code == 200


@rows
@pytest.mark.parametrize("path", [BOOKS, AUTHORS, TAGS])
def test_the_cost_of_a_list_does_not_depend_on_the_number_of_rows(staff: Client, path: str) -> None:
    make_book(tags="a b", authors="Ann,Bob")
    staff.get(path)
    with record() as few:
        staff.get(path)
    for n in range(20):
        make_book(tags=f"a t{n}", authors=f"Ann,Author {n}")
    with record() as many:
        page = staff.get(path).content.decode()
    assert "t19" in page or "Author 19" in page
    assert len(many.sql) == len(few.sql)


@rows
def test_books_are_found_by_title_isbn_and_author_and_by_year(staff: Client) -> None:
    make_book("Dune", authors="Frank Herbert", isbn="0441013597", year=1965)
    make_book("Tao Te Ching", authors="Laozi", year=-350)
    make_book("Undated")
    for asked in ({"q": "dun"}, {"q": "0441013597"}, {"q": "herbert"}, {"years": "1999"}):
        page = staff.get(BOOKS, asked).content.decode()
        assert "Dune" in page, asked
        assert "Tao Te Ching" not in page, asked
    assert "Tao Te Ching" in staff.get(BOOKS, {"years": "bc"}).content.decode()
    assert "Undated" in staff.get(BOOKS, {"years": "unknown"}).content.decode()


@rows
@pytest.mark.parametrize(("path", "lookup"), [(TAGS, "tags__id__exact"), (AUTHORS, "authors__id__exact")])
def test_tags_and_authors_link_to_their_books(staff: Client, path: str, lookup: str) -> None:
    book = make_book("Dune", tags="sf", authors="Frank Herbert")
    make_book("Another")
    row = book.tags.get() if path == TAGS else book.authors.get()
    address = f"{BOOKS}?{lookup}={row.pk}"
    assert f'href="{address}">1</a>' in staff.get(path).content.decode()
    page = staff.get(address).content.decode()
    assert "Dune" in page
    assert "Another" not in page


@rows
def test_tags_and_authors_have_autocompletion(staff: Client) -> None:
    make_book(tags="classics sf", authors="Ann")
    for model, field, term, found in (("tagging", "tag", "clas", "classics"), ("book", "authors", "an", "Ann")):
        asked = {"app_label": "catalog", "model_name": model, "field_name": field, "term": term}
        results = staff.get("/admin/autocomplete/", asked).json()["results"]
        assert [row["text"] for row in results] == [found]


@rows
def test_actions_add_a_tag_to_many_books_and_remove_it(staff: Client) -> None:
    books = [make_book(tags="a") for _ in range(3)]
    books[0].tags.add(Tag.objects.create(name="new one"))
    pks = [book.pk for book in books[:2]]
    assert "1 book was tagged “new one”" in act(staff, BOOKS, "add_tag", pks, "  New   ONE ")
    assert [names(book) for book in books] == [{"a", "new one"}, {"a", "new one"}, {"a"}]
    assert LogEntry.objects.count() == 2
    assert "The tag “a” was removed from 2 books" in act(staff, BOOKS, "remove_tag", pks, "A")
    assert [names(book) for book in books] == [{"new one"}, {"new one"}, {"a"}]


@rows
def test_the_cost_of_adding_a_tag_does_not_depend_on_the_number_of_books(staff: Client) -> None:
    pks = [make_book().pk for _ in range(40)]
    act(staff, BOOKS, "add_tag", pks[:2], "warm")
    with record() as few:
        act(staff, BOOKS, "add_tag", pks[:2], "one")
    with record() as many:
        act(staff, BOOKS, "add_tag", pks, "two")
    assert len(many.sql) <= len(few.sql)
    assert Tag.objects.get(name="two").books.count() == 40


@rows
@pytest.mark.parametrize("tag", ["", "   ", "ﷺ" * 12])
def test_an_action_without_the_name_of_a_tag_changes_nothing(staff: Client, tag: str) -> None:
    book = make_book(tags="a")
    assert "Enter the name of a tag" in act(staff, BOOKS, "add_tag", [book.pk], tag)
    assert names(book) == {"a"}
    assert Tag.objects.count() == 1


@rows
def test_an_unknown_tag_cannot_be_removed_or_merged_into(staff: Client) -> None:
    book = make_book(tags="a")
    assert "There is no tag called “b”" in act(staff, BOOKS, "remove_tag", [book.pk], "b")
    assert "There is no tag called “b”" in act(staff, TAGS, "merge", [book.tags.get().pk], "b")
    assert names(book) == {"a"}


@rows
def test_an_action_merges_tags_into_another(staff: Client) -> None:
    books = [make_book(tags=tags) for tags in ("sf", "sf sci-fi", "scifi", "other")]
    pks = list(Tag.objects.filter(name__in=["sf", "sci-fi", "scifi"]).values_list("pk", flat=True))
    assert "2 tags were merged into “sci-fi”" in act(staff, TAGS, "merge", pks, "Sci-Fi")
    assert [names(book) for book in books] == [{"sci-fi"}, {"sci-fi"}, {"sci-fi"}, {"other"}]
    assert set(Tag.objects.values_list("name", flat=True)) == {"sci-fi", "other"}


@rows
def test_a_tag_cannot_take_an_equivalent_name_of_another_tag(staff: Client) -> None:
    make_book(tags="sf fantasy")
    tag = Tag.objects.get(name="fantasy")
    assert staff.post(f"{TAGS}{tag.pk}/change/", {"name": " ＳＦ"}).status_code == 200
    assert staff.post(f"{TAGS}{tag.pk}/change/", {"name": "Fantasies"}).status_code == 302
    assert set(Tag.objects.values_list("name", flat=True)) == {"sf", "fantasies"}


@rows
def test_staff_without_permission_to_change_have_no_actions(client: Client) -> None:
    reader = User.objects.create_user("bob", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename__in=["view_book", "view_tag"]))
    client.force_login(reader)
    book = make_book(tags="a")
    act(client, BOOKS, "add_tag", [book.pk], "b")
    act(client, TAGS, "merge", [book.tags.get().pk], "a")
    assert names(book) == {"a"}


def shown(client: Client, query: str) -> set[str]:
    """Return the titles that the site finds."""
    response = client.get("/books/", {"q": query}, headers={"accept": "application/json"})
    return {book["title"] for book in response.json()["results"]}


def tags_form(book: Book) -> dict[str, str]:
    """Return the form data of a book's tags without any change."""
    rows = list(book.tagging_set.order_by("pk"))
    given = {"tagging_set-TOTAL_FORMS": str(len(rows)), "tagging_set-INITIAL_FORMS": str(len(rows))} | NO_DETAILS
    for n, row in enumerate(rows):
        values = {"id": row.pk, "book": book.pk, "tag": row.tag_id, "imported_count": row.imported_count}
        given |= {f"tagging_set-{n}-{name}": str(value) for name, value in values.items()}
    return given


@rows
def test_removing_a_tag_in_the_form_deletes_its_votes(staff: Client) -> None:
    book = make_book(tags="rude sea")
    TagVote.objects.bulk_create(
        TagVote(user=User.objects.get(), book=book, tag=tag) for tag in Tag.objects.order_by("name")
    )
    form = {"title": "T", "authors": [], "popularity": "0", **tags_form(book)}
    rude = next(n for n in range(2) if form[f"tagging_set-{n}-tag"] == str(Tag.objects.get(name="rude").pk))
    assert staff.post(f"{BOOKS}{book.pk}/change/", {**form, f"tagging_set-{rude}-DELETE": "on"}).status_code == 302
    assert names(book) == {"sea"}
    assert TagVote.objects.get().tag.name == "sea"


@commits
def test_changes_by_staff_show_at_the_next_request(staff: Client) -> None:
    dune, tao = make_book("Dune", tags="sf"), make_book("Tao", tags="classics")
    rebuild()
    assert shown(staff, "sf") == {"Dune"}
    act(staff, BOOKS, "add_tag", [dune.pk, tao.pk], "desert")
    assert shown(staff, "desert") == {"Dune", "Tao"}
    act(staff, BOOKS, "remove_tag", [tao.pk], "desert")
    assert shown(staff, "desert") == {"Dune"}
    staff.post(f"{TAGS}{Tag.objects.get(name='sf').pk}/change/", {"name": "science-fiction"})
    assert (shown(staff, "sf"), shown(staff, "science-fiction")) == (set(), {"Dune"})
    act(staff, TAGS, "merge", [Tag.objects.get(name="desert").pk], "classics")
    assert shown(staff, "classics") == {"Dune", "Tao"}
    changed = {"title": "Tao Te Ching", "authors": [], **tags_form(tao)}
    staff.post(f"{BOOKS}{tao.pk}/change/", {**changed, "popularity": "7"})
    assert shown(staff, "classics") == {"Dune", "Tao Te Ching"}
    staff.post(f"{BOOKS}{dune.pk}/delete/", {"post": "yes"})
    assert not Book.objects.filter(pk=dune.pk).exists()
    assert shown(staff, "classics") == {"Tao Te Ching"}
    assert Author.objects.count() == 0


@rows
def test_books_of_the_shop_are_withdrawn_and_others_deleted(staff: Client) -> None:
    sold, mistaken = make_product().book, make_book()
    assert "delete_selected" not in staff.get(BOOKS).content.decode()
    page = staff.get(f"{BOOKS}{sold.pk}/change/").content.decode()
    assert f'href="/admin/shop/product/{sold.pk}/change/"' in page
    assert f"{BOOKS}{sold.pk}/delete/" not in page
    assert staff.post(f"{BOOKS}{sold.pk}/delete/", {"post": "yes"}).status_code == 403
    assert f"{BOOKS}{mistaken.pk}/delete/" in staff.get(f"{BOOKS}{mistaken.pk}/change/").content.decode()
    assert staff.post(f"{BOOKS}{mistaken.pk}/delete/", {"post": "yes"}).status_code == 302
    assert list(Book.objects.values_list("pk", flat=True)) == [sold.pk]
