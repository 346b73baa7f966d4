"""Uploaded covers and photos of authors: in the admin, from a folder, and on pages."""

import json
import re
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from PIL import Image
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.authors.merging import merge_authors
from catalog.models import Author, Book
from catalog.pictures.services import COVER, PHOTO, set_picture
from catalog.selectors import get_book_page
from common.pictures import MAX_BYTES
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from shop.models import Product
from social.services.posts import create_post
from tests.support.catalog.make import NO_DETAILS, make_book
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Settings) -> Path:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    return tmp_path / "media"


def make_picture(kind: str = "JPEG", size: tuple[int, int] = (900, 1200), **options: Any) -> bytes:
    made = BytesIO()
    Image.new("RGB", size, "#a02020").save(made, kind, **options)
    return made.getvalue()


def list_files(media: Path) -> list[str]:
    return sorted(str(path.relative_to(media)) for path in media.rglob("*") if path.is_file())


def save(staff: Client, book: Book, content: bytes | None = None, **more: str) -> Any:
    """Save the form of a book in the admin."""
    authors = list(book.authors.values_list("pk", flat=True))
    given: dict[str, Any] = {"title": book.title, "authors": authors, "popularity": "0", **NO_DETAILS, **more}
    given |= {"tagging_set-TOTAL_FORMS": "0", "tagging_set-INITIAL_FORMS": "0"}
    if content is not None:
        given["picture"] = SimpleUploadedFile("cover.jpg", content)
    return staff.post(f"/admin/catalog/book/{book.pk}/change/", given)


def test_a_cover_is_encoded_again_and_shown_everywhere(client: Client, media: Path) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("carol"))
    ann = User.objects.create_user("Ann")
    book = make_book("Dune", authors="Frank Herbert", tags="science-fiction")
    Product.objects.create(book=book, price=1250, stock=10)
    create_post(ann.pk, "A post.", book_id=book.pk)
    rebuild()
    address = f"/books/{book.pk}/"
    before = client.get(address).content.decode()
    assert '<svg class="cover' in before

    exif = Image.Exif()
    exif[0x010E] = "at home, 52.5 N 13.4 E"
    assert save(staff, book, make_picture(exif=exif) + b"<script>alert(1)</script>").status_code == 302
    book.refresh_from_db()
    assert list_files(media) == sorted(f"covers/{book.cover}-{width}.webp" for width in (120, 240, 480))
    for width in (120, 240, 480):
        path = media / f"covers/{book.cover}-{width}.webp"
        with Image.open(path) as stored:
            assert (stored.format, stored.size, dict(stored.getexif())) == ("WEBP", (width, width * 3 // 2), {})
        assert not any(word in path.read_bytes() for word in (b"at home", b"script"))
    drain_all()
    assert verify(["book", "post", "profile"]) == []

    # On every page that shows books, in its place and size, without another round trip
    client.post("/shop/cart/", {"product": book.pk, "quantity": 1})
    for address_of_page in (
        "/books/",
        "/",
        f"/authors/{book.authors.get().pk}/",
        f"/books/{book.pk}/posts/",
        "/shop/cart/",
    ):
        page = client.get(address_of_page, follow=True).content.decode()
        assert f'src="/media/covers/{book.cover}-240.webp"' in page, address_of_page
        assert 'width="120" height="180"' in page
        assert find_policy_violations(page) == []
    with record() as seen:
        assert get_book_page(book.pk) is not None
    assert (seen.round_trips, seen.sql) == (1, [])
    page = client.get(address).content.decode()
    with sql_only():
        assert re.findall("<img[^>]*cover[^>]*>", client.get(address).content.decode()) == re.findall(
            "<img[^>]*cover[^>]*>", page
        )
    large = re.search(r'<div class="book-cover"><img[^>]*>', page)
    assert large is not None
    assert 'loading="lazy"' not in large[0]

    # The files, and the card of link previews
    file = client.get(f"/media/covers/{book.cover}-480.webp")
    assert b"".join(file.streaming_content).startswith(b"RIFF")  # type: ignore[attr-defined]
    assert (file.status_code, file.headers["Content-Type"]) == (200, "image/webp")
    assert "immutable" in file.headers["Cache-Control"]
    assert client.get(f"/media/covers/{book.cover}-481.webp").status_code == 404
    card = re.search(r'property="og:image" content="[^"]*(/books/[^"]*)"', page)
    assert card is not None
    with Image.open(BytesIO(client.get(card[1]).content)) as image:
        red = image.convert("RGB").getpixel((600, 315))
    assert isinstance(red, tuple)
    assert red[0] > 150 > 60 > red[1]

    # A rolled back change keeps the files; another cover replaces them, and a deletion removes them.
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        set_picture(COVER, book.pk, None)
        raise ZeroDivisionError
    assert len(list_files(media)) == 3
    save(staff, book, make_picture("PNG", (300, 900)))
    former = book.cover
    book.refresh_from_db()
    assert former != book.cover
    assert len(list_files(media)) == 3
    save(staff, book, removes_picture="on")
    book.refresh_from_db()
    assert (book.cover, list_files(media)) == ("", [])
    save(staff, book, make_picture())
    book.product.delete()
    Book.objects.get(pk=book.pk).delete()
    assert list_files(media) == []


def test_other_files_are_refused(media: Path) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("carol"))
    book = make_book("Dune")
    bad = {
        "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "not a picture"),
        "cut": (make_picture()[:200], "not a picture"),
        "format": (make_picture("BMP"), "not a picture"),
        "pixels": (make_picture("PNG", (8000, 5001)), "too large"),
        "bytes": (b"\0" * (MAX_BYTES + 1), "too large"),
    }
    for name, (content, message) in bad.items():
        response = save(staff, book, content)
        assert response.status_code == 200, name
        assert message in response.content.decode(), name
    assert list_files(media) == []
    book.refresh_from_db()
    assert book.cover == ""


def test_a_folder_of_covers_is_imported_once(tmp_path: Path, media: Path) -> None:
    by_isbn = make_book("Dune", isbn="9780441013593")
    by_id = make_book("Emma")
    folder = tmp_path / "covers"
    folder.mkdir()
    (folder / "0-441-01359-7.jpg").write_bytes(make_picture())
    (folder / f"{by_id.pk}.PNG").write_bytes(make_picture("PNG"))
    (folder / "123456789.jpg").write_bytes(make_picture())
    (folder / "notes.txt").write_text("no picture")

    def run(*options: str) -> Any:
        out = StringIO()
        with pytest.raises(SystemExit, match="1"):
            call_command("import_covers", folder, "--json", *options, stdout=out, stderr=StringIO())
        return json.loads(out.getvalue())

    assert run("--dry-run") == {"stored": 2, "unchanged": 0, "unknown": ["123456789.jpg"], "surplus": [], "refused": {}}
    assert list_files(media) == []
    assert run()["stored"] == 2
    for book in (by_isbn, by_id):
        book.refresh_from_db()
        assert book.cover
    assert len(list_files(media)) == 6
    (folder / f"{by_id.pk}.GIF").write_bytes(b"broken")
    again = run()
    assert (again["stored"], again["unchanged"], list(again["refused"])) == (0, 2, [f"{by_id.pk}.GIF"])
    # Of several files of a book, one with its id counts, or else the first by name.
    (folder / f"{by_isbn.pk}.png").write_bytes(make_picture("PNG"))
    (folder / f"{by_isbn.pk}.webp").write_bytes(make_picture("WEBP"))
    files = {"surplus": [f"{by_isbn.pk}.webp", "0-441-01359-7.jpg"]}
    assert run("--dry-run").items() >= (files | {"stored": 1, "unchanged": 1}).items()
    assert run().items() >= (files | {"stored": 1, "unchanged": 1}).items()
    assert run().items() >= (files | {"stored": 0, "unchanged": 2}).items()


def test_an_author_has_a_photo(client: Client, media: Path) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("carol"))
    author = Author.objects.create(name="Frank Herbert")
    rebuild()
    drawn = r'<svg class="avatar cloth-\d+" width="128".*>F</text></svg>'
    assert re.search(drawn, client.get(f"/authors/{author.pk}/").content.decode())
    given: dict[str, Any] = {"aliases-TOTAL_FORMS": "0", "aliases-INITIAL_FORMS": "0"}
    given |= {"name": author.name, "bio": "", "picture": SimpleUploadedFile("me.jpg", make_picture())}
    assert staff.post(f"/admin/catalog/author/{author.pk}/change/", given).status_code == 302
    author.refresh_from_db()
    drain_all()
    page = client.get(f"/authors/{author.pk}/").content.decode()
    assert f'src="/media/authors/{author.photo}-128.webp"' in page
    assert not re.search(drawn, page)
    file = client.get(f"/media/authors/{author.photo}-384.webp")
    assert b"".join(file.streaming_content).startswith(b"RIFF")  # type: ignore[attr-defined]
    author.delete()
    assert list_files(media) == []


def test_a_merged_author_leaves_the_photo_to_one_without(client: Client, media: Path) -> None:
    into, first, second = (Author.objects.create(name=name) for name in ("Jane Austen", "J. Austen", "Miss Austen"))
    set_picture(PHOTO, first.pk, PHOTO.files.encode(make_picture()))
    kept = list_files(media)
    set_picture(PHOTO, second.pk, PHOTO.files.encode(make_picture("PNG")))
    assert len(list_files(media)) == 2 * len(kept)
    assert merge_authors(Author.objects.exclude(pk=into.pk), into) == 2
    assert Author.objects.get().photo in kept[0]
    assert list_files(media) == kept
    page = client.get(f"/authors/{into.pk}/").content.decode()
    (path,) = re.findall(r'class="avatar" src="([^"]+)"', page)
    assert b"".join(client.get(path).streaming_content)[8:12] == b"WEBP"  # type: ignore[attr-defined]
    # A photo of its own replaces the one that was taken over.
    set_picture(PHOTO, into.pk, PHOTO.files.encode(make_picture("PNG")))
    assert not set(kept) & set(list_files(media))
