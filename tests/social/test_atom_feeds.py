"""Atom feeds: their contents, links, caching, and what they must not show."""

from datetime import UTC, date, datetime
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.lists.services import ListDraft, add_book, create_list
from catalog.models import Author
from catalog.shelves.models import Privacy, Shelf, ShelfEntry, ShelfSettings
from catalog.shelves.services import put_on_shelf, rate_book
from mirror.relay.drains import drain_all
from social.models import Block, Post
from social.reviews.services import Draft, write_review
from social.services.posts import create_post, edit_post, hide_post
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
ATOM = "{http://www.w3.org/2005/Atom}"


def read_feed(path: str, client: Client | None = None) -> ElementTree.Element:
    """Return the root of the feed at a path."""
    response = (client or Client()).get(path)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("application/atom+xml")
    return ElementTree.fromstring(response.content)


def list_texts(feed: ElementTree.Element, name: str) -> list[str]:
    """Return this element of each entry, as text."""
    return [entry.findtext(f"{ATOM}{name}") or "" for entry in feed.iter(f"{ATOM}entry")]


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("Ann B")


def test_a_readers_feed_shows_posts_with_absolute_ids_and_escaped_texts(ann: User) -> None:
    book = make_book("Emma & <co>")
    first = create_post(ann.pk, "the first <b>\nwith #one and @Ann B")
    second = create_post(ann.pk, "about it", book_id=book.pk)
    drain_all()
    feed = read_feed("/u/Ann%20B/feed/")
    address = f"{settings.SITE_URL}/posts"
    assert list_texts(feed, "id") == [f"{address}/{second.pk}/", f"{address}/{first.pk}/"]
    assert list_texts(feed, "title")[0] == "Ann B about “Emma & <co>”"
    assert "the first &lt;b&gt;<br>" in list_texts(feed, "summary")[1]
    assert 'href="/tags/one/"' in list_texts(feed, "summary")[1]
    assert feed.get("{http://www.w3.org/XML/1998/namespace}base") == f"{settings.SITE_URL}/"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links["self"] == f"{settings.SITE_URL}/u/Ann%20B/feed/"
    assert feed.find(f"{ATOM}entry/{ATOM}author/{ATOM}uri").text == f"{settings.SITE_URL}/u/Ann%20B/"


def test_a_text_with_a_content_note_stays_closed(ann: User) -> None:
    create_post(ann.pk, "the gardener did it", note="ending of Emma")
    drain_all()
    raw = Client().get("/u/Ann%20B/feed/").content.decode()
    assert "gardener" not in raw
    assert "ending of Emma" in raw


def test_an_edit_changes_the_entry_and_its_time(ann: User) -> None:
    post = create_post(ann.pk, "before")
    edit_post(post.pk, "after", by=ann.pk)
    drain_all()
    feed = read_feed("/u/Ann%20B/feed/")
    assert list_texts(feed, "summary") == ["after"]
    published, updated = list_texts(feed, "published")[0], list_texts(feed, "updated")[0]
    assert published <= updated


def test_feeds_of_a_book_and_of_an_author(ann: User) -> None:
    book = make_book("Emma", authors="Jane Austen")
    create_post(ann.pk, "about it", book_id=book.pk)
    create_post(ann.pk, "about nothing")
    drain_all()
    author = Author.objects.get()
    for path in (f"/books/{book.pk}/posts/feed/", f"/authors/{author.pk}/posts/feed/"):
        assert list_texts(read_feed(path), "summary") == ["about it"]


def test_feeds_show_reviews_and_ratings_with_their_stars(ann: User) -> None:
    book = make_book("Emma", authors="Jane Austen")
    other = make_book("Persuasion")
    create_post(ann.pk, "about it", book_id=book.pk)
    write_review(ann.pk, book.pk, Draft("A *fine* book", 7), date(2026, 6, 2))
    put_on_shelf(ann.pk, other.pk, Shelf.READ, date(2026, 6, 2))
    rate_book(ann.pk, other.pk, 10, date(2026, 6, 2))
    rebuild()
    feed = read_feed(f"/books/{book.pk}/posts/feed/")
    assert list_texts(feed, "title") == ["Review of “Emma” by Ann B", "Ann B about “Emma”"]
    assert list_texts(feed, "summary") == ["Rating: 3.5 out of 5<br>A fine book", "about it"]
    feed = read_feed("/u/Ann%20B/feed/")
    assert list_texts(feed, "title")[0] == "Rating of “Persuasion” by Ann B"
    assert list_texts(feed, "summary")[0] == "Rating: 5 out of 5"


def test_hidden_posts_and_inactive_readers_are_missing(ann: User) -> None:
    hidden = create_post(ann.pk, "hidden")
    create_post(ann.pk, "visible")
    hide_post(hidden.pk)
    drain_all()
    assert list_texts(read_feed("/u/Ann%20B/feed/"), "summary") == ["visible"]
    User.objects.filter(pk=ann.pk).update(is_active=False)
    drain_all()
    assert Client().get("/u/Ann%20B/feed/").status_code == 404


def test_a_block_hides_feeds_and_posts_from_both(ann: User) -> None:
    bob, book = User.objects.create_user("bob"), make_book("Emma")
    Block.objects.create(blocker=ann, blocked=bob)
    for user in (ann, bob):
        create_post(user.pk, f"by {user.username}", book_id=book.pk)
    drain_all()
    for user, other in ((ann, "/u/bob/feed/"), (bob, "/u/Ann%20B/feed/")):
        client = Client()
        client.force_login(user)
        assert client.get(other).status_code == 404
        assert list_texts(read_feed(f"/books/{book.pk}/posts/feed/", client), "summary") == [f"by {user.username}"]


def test_only_public_shelves_have_feeds(ann: User) -> None:
    book = make_book("Emma", authors="Jane Austen")
    ShelfEntry.objects.create(
        user=ann, book=book, shelf=Shelf.READ, stars=7, shelved_on=date(2026, 5, 1), finished_on=date(2026, 6, 2)
    )
    drain_all()
    path = "/u/Ann%20B/shelves/read/feed/"
    feed = read_feed(path)
    assert list_texts(feed, "title") == ["Emma"]
    assert list_texts(feed, "summary") == ["Jane Austen\nRating: 3.5 out of 5"]
    assert list_texts(feed, "updated") == ["2026-06-02T00:00:00+00:00"]
    own = Client()
    own.force_login(ann)
    for privacy in (Privacy.FOLLOWERS, Privacy.ME):
        ShelfSettings.objects.update_or_create(user=ann, defaults={"read_privacy": privacy})
        drain_all()
        # Also for the owner: a feed reader has no login.
        assert [client.get(path).status_code for client in (Client(), own)] == [404, 404]
    assert Client().get("/u/Ann%20B/shelves/nothing/feed/").status_code == 404


def test_an_empty_feed_has_the_time_of_a_day_on_which_it_is_read(ann: User, settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2026, 6, 2, 23, 59, tzinfo=UTC)
    path = "/u/Ann%20B/feed/"
    assert read_feed(path).findtext(f"{ATOM}updated") == "2026-06-02T00:00:00+00:00"


def test_feeds_are_stored_and_unchanged_ones_are_not_sent_again(ann: User) -> None:
    create_post(ann.pk, "one")
    rebuild()
    client = Client()
    client.get("/u/Ann%20B/feed/")
    first = client.get("/u/Ann%20B/feed/")
    tag = first["ETag"]
    assert client.get("/u/Ann%20B/feed/", HTTP_IF_NONE_MATCH=tag).status_code == 304
    create_post(ann.pk, "two")
    drain_all()
    again = client.get("/u/Ann%20B/feed/", HTTP_IF_NONE_MATCH=tag)
    assert again.status_code == 200
    assert b"two" in again.content


def test_pages_name_their_feeds(ann: User) -> None:
    book = make_book("Emma", authors="Jane Austen")
    create_post(ann.pk, "hello", book_id=book.pk)
    drain_all()
    author = Author.objects.get()
    feeds = {
        "/u/Ann%20B/": "/u/Ann%20B/feed/",
        f"/books/{book.pk}/": f"/books/{book.pk}/posts/feed/",
        f"/books/{book.pk}/posts/": f"/books/{book.pk}/posts/feed/",
        f"/authors/{author.pk}/": f"/authors/{author.pk}/posts/feed/",
        "/u/Ann%20B/shelves/?shelf=read": "/u/Ann%20B/shelves/read/feed/",
    }
    for page, feed in feeds.items():
        assert f'type="application/atom+xml" href="{feed}"' in Client().get(page).content.decode()
        read_feed(feed)


def test_control_characters_of_an_import_do_not_break_a_feed(ann: User) -> None:
    """XML cannot contain them. Forms remove them, but other programs write to SQL as well."""
    Post.objects.create(user=ann, text="bell \x07 here", note="")
    drain_all()
    assert list_texts(read_feed("/u/Ann%20B/feed/"), "summary") == ["bell  here"]


def test_characters_that_xml_forbids_are_left_out_of_titles(ann: User) -> None:
    """Staff and imports write titles and names, which are not cleaned like the texts of readers."""
    book = make_book("Em\ufffema \uffff\x0b\U0001f40d", authors="Jane \uffffAusten")
    create_post(ann.pk, "hello", book_id=book.pk)
    put_on_shelf(ann.pk, book.pk, Shelf.READ, date(2026, 1, 2))
    drain_all()
    assert list_texts(read_feed("/u/Ann%20B/feed/"), "title") == ["Ann B about “Emma 🐍”"]
    shelf = read_feed("/u/Ann%20B/shelves/read/feed/")
    assert (list_texts(shelf, "title"), list_texts(shelf, "summary")) == (["Emma 🐍"], ["Jane Austen"])
    assert read_feed(f"/books/{book.pk}/posts/feed/").findtext(f"{ATOM}title") == "Posts about “Emma 🐍”"
    author = Author.objects.get()
    assert read_feed(f"/authors/{author.pk}/posts/feed/").findtext(f"{ATOM}title") == "Posts about books by Jane Austen"


def test_link_previews_of_posts_profiles_authors_and_lists(ann: User) -> None:
    book = make_book("Emma", authors="Jane Austen")
    post = create_post(ann.pk, 'a "quoted" text', book_id=book.pk)
    veiled = create_post(ann.pk, "the gardener did it", note="ending")
    quiet = create_list(ann.pk, ListDraft("Quiet books"))
    add_book(ann.pk, quiet.pk, book.pk, date(2026, 6, 1))
    drain_all()
    author = Author.objects.get()
    shown = Client().get(f"/posts/{post.pk}/").content.decode()
    assert '<meta property="og:description" content="a &#34;quoted&#34; text">' in shown
    assert f'<meta property="og:image" content="{settings.SITE_URL}/books/{book.pk}/cover.png">' in shown
    head = Client().get(f"/posts/{veiled.pk}/").content.decode().partition("</head>")[0]
    assert "gardener" not in head
    listed = Client().get(f"/lists/{quiet.pk}/").content.decode().partition("</head>")[0]
    assert '<meta property="og:title" content="Quiet books">' in listed
    assert f"/books/{book.pk}/cover.png" in listed
    for path in ("/", "/u/Ann%20B/", f"/authors/{author.pk}/", f"/lists/{quiet.pk}/"):
        head = Client().get(path).content.decode().partition("</head>")[0]
        assert f'<meta property="og:url" content="{settings.SITE_URL}{path}">' in head
        assert head.count("og:image") >= 1
