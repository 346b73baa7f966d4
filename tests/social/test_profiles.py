"""Profiles: a picture, a text, links, favourite books and the books that a reader is reading."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.personal.registry import all_parts
from catalog.covers.designs import CLOTH_COUNT
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.services import put_on_shelf, set_privacy
from common import clock, pictures
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.services import people
from social.services.posts import create_post
from tests.support.catalog.make import make_book
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

EDIT, JSON = "/people/profile/", {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Settings) -> Path:
    settings.MEDIA_ROOT = str(tmp_path)
    return tmp_path


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("Ann B")


@pytest.fixture
def client(ann: User) -> Client:
    browser = Client()
    browser.force_login(ann)
    return browser


def make_picture(kind: str = "JPEG", size: tuple[int, int] = (900, 600), **options: Any) -> bytes:
    made = BytesIO()
    Image.new("RGB", size, "#a02020").save(made, kind, **options)
    return made.getvalue()


def upload(client: Client, content: bytes, name: str = "me.jpg") -> Any:
    return client.post(EDIT, {"action": "picture", "picture": SimpleUploadedFile(name, content)})


def list_files(media: Path) -> list[Path]:
    return sorted(path for path in media.rglob("*") if path.is_file())


def test_a_picture_is_encoded_again_and_shown(client: Client, ann: User, media: Path) -> None:
    create_post(ann.pk, "With a picture.")
    rebuild()
    page = client.get("/u/Ann%20B/").content.decode()
    assert f'<svg class="avatar cloth-{ann.pk % CLOTH_COUNT}"' in page
    assert ">A</text>" in page
    exif = Image.Exif()
    exif[0x010E] = "at home, 52.5 N 13.4 E"
    assert upload(client, make_picture(exif=exif)).status_code == 302
    ann.refresh_from_db()
    files = list_files(media)
    assert [path.name for path in files] == [f"{ann.avatar}-384.webp", f"{ann.avatar}-96.webp"]
    for path, size in zip(files, (384, 96), strict=True):
        with Image.open(path) as stored:
            assert (stored.format, stored.size, dict(stored.getexif())) == ("WEBP", (size, size), {})
        assert b"at home" not in path.read_bytes()
    drain_all()
    for shown in (client, Client()):
        page = shown.get("/u/Ann%20B/").content.decode()
        found = re.findall(r'<img class="avatar" src="([^"]+)"', page)
        assert set(found) == {f"/media/avatars/{ann.avatar}-{size}.webp" for size in (96, 384)}
        assert find_policy_violations(page) == []
    response = Client().get(found[0])
    assert (response.status_code, response.headers["Content-Type"]) == (200, "image/webp")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "immutable" in response.headers["Cache-Control"]
    assert b"".join(response.streaming_content).startswith(b"RIFF")  # type: ignore[attr-defined]
    for other in ("../../../etc/passwd", f"{ann.avatar}-97.webp", f"{'0' * 24}-96.webp"):
        assert Client().get(f"/media/avatars/{other}").status_code == 404

    # Another picture replaces the files, and the removal deletes them.
    upload(client, make_picture("PNG"), "me.png")
    assert len(list_files(media)) == 2
    assert not files[0].exists()
    (part,) = (part for part in all_parts() if part.name == "picture")
    assert part.read is not None
    assert [row["file"] for row in part.read(ann.pk)] == [f"{User.objects.get().avatar}.webp"]
    part.erase(ann.pk)
    assert list_files(media) == []
    assert User.objects.get().avatar == ""


@pytest.mark.parametrize(
    ("make_content", "message"),
    [
        # Made in the test: every process of a run imports this module.
        (lambda: b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "not a picture"),
        (lambda: make_picture()[:200], "not a picture"),
        (lambda: b"%PDF-1.7", "not a picture"),
        (lambda: make_picture("BMP"), "not a picture"),
        (lambda: make_picture("PNG", (8000, 5001)), "too large"),
        (lambda: b"\0" * (pictures.MAX_BYTES + 1), "too large"),
        (lambda: b"", "Choose a file"),
    ],
    ids=["svg", "cut", "pdf", "bmp", "pixels", "bytes", "empty"],
)
def test_other_files_are_refused(client: Client, media: Path, make_content: Callable[[], bytes], message: str) -> None:
    response = upload(client, make_content())
    assert response.status_code == 400
    assert message in response.content.decode()
    assert list_files(media) == []
    assert not User.objects.exclude(avatar="").exists()


def test_visitors_and_other_pages_discard_files(client: Client, media: Path) -> None:
    assert upload(Client(), make_picture()).status_code == 302
    client.post("/people/requests/", {"picture": SimpleUploadedFile("me.jpg", make_picture())})
    assert list_files(media) == []


def test_texts_links_and_books_are_on_the_profile(client: Client, ann: User) -> None:
    books = [make_book(f"Book {number}") for number in range(6)]
    rebuild()
    given = {
        "bio": "I read <b>slowly</b>.\nhttps://ann.example/",
        "link1": "https://ann.example/me/",
        "action": "texts",
    }
    for wrong in ("http://ann.example/", "javascript:alert(1)", "ftp://ann.example"):
        assert client.post(EDIT, {**given, "link2": wrong}).status_code == 400, wrong
    assert client.post(EDIT, {**given, "bio": "x" * 501}).status_code == 400
    assert client.post(EDIT, {**given, "link2": "ann.example/blog"}).status_code == 302
    for book in (books[0], books[0], *books[1:5]):
        client.post(EDIT, {"action": "add", "book": book.pk})
    client.post(EDIT, {"action": "remove", "book": books[1].pk})
    client.post(EDIT, {"action": "add", "book": 10**30})
    put_on_shelf(ann.pk, books[5].pk, Shelf.READING, clock.now().date())
    drain_all()
    visitor = Client()
    user = visitor.get("/u/Ann%20B/", headers=JSON).json()["user"]
    assert user["links"] == ["https://ann.example/me/", "https://ann.example/blog"]
    assert [book["title"] for book in user["favourites"]] == ["Book 0", "Book 2", "Book 3"]
    assert [book["title"] for book in user["reading"]] == ["Book 5"]
    page = visitor.get("/u/Ann%20B/").content.decode()
    assert "I read &lt;b&gt;slowly&lt;/b&gt;.<br>" in page
    assert '<a href="https://ann.example/me/" rel="me nofollow ugc noopener">ann.example/me</a>' in page
    with sql_only():
        assert visitor.get("/u/Ann%20B/", headers=JSON).json()["user"] == user
    assert "Book 4" in client.get(f"{EDIT}?book_search=Book 4").content.decode()
    books[0].title = "Another title"
    books[0].save()
    drain_all()
    assert verify(["profile", "user", "post"]) == []

    # The audience of the shelf and of the account
    set_privacy(ann.pk, Shelf.READING, Privacy.FOLLOWERS)
    drain_all()
    user = visitor.get("/u/Ann%20B/", headers=JSON).json()["user"]
    assert (user["reading"], user["favourites"][0]["title"]) == ([], "Another title")
    people.set_private(ann.pk, is_private=True)
    drain_all()
    page = visitor.get("/u/Ann%20B/").content.decode()
    assert "slowly" not in page
    assert "Another title" not in page


def test_a_profile_needs_no_further_round_trip(client: Client, ann: User) -> None:
    client.post(EDIT, {"bio": "Hello.", "action": "texts"})
    create_post(ann.pk, "A post.")
    put_on_shelf(ann.pk, make_book("A book").pk, Shelf.READING, clock.now().date())
    rebuild()
    drain_all()
    for _ in range(3):
        client.get("/u/Ann%20B/")
    with record() as seen:
        client.get("/u/Ann%20B/")
    assert (seen.round_trips, seen.sql) == (1, [])


def test_the_head_shows_text_and_links_on_all_tabs(client: Client, ann: User) -> None:
    put_on_shelf(ann.pk, make_book("Emma").pk, Shelf.READ, clock.now().date())
    client.post(EDIT, {"action": "texts", "bio": "I read slowly.", "link1": "https://ann.example"})
    rebuild()
    for tab in ("", "shelves/", "shelves/statistics/", "lists/", "followers/", "following/"):
        head = client.get(f"/u/Ann%20B/{tab}").content.decode().partition("</header>\n<nav")[0]
        assert "I read slowly." in head, tab
        assert 'href="https://ann.example"' in head, tab


def test_the_tools_of_shelves_are_in_one_place(client: Client, ann: User) -> None:
    put_on_shelf(ann.pk, make_book("Emma").pk, Shelf.READ, clock.now().date())
    rebuild()
    for address in ("/shelves/read/", "/u/Ann%20B/shelves/?shelf=read"):
        page = client.get(address).content.decode()
        bar = page.index('<div class="shelf-bar cluster">')
        assert bar < page.index('class="shelf-tools cluster">') < page.index('<ul class="covers">'), address
        assert page.count("shelf-tools") == 1, address
