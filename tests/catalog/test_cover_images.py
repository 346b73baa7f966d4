"""Covers as PNG: what they show, who gets them, and how long they may be cached."""

import re
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from PIL import Image

from catalog.covers.designs import DESIGNS, LAYOUTS, TEXTURES
from catalog.covers.images import CLOTHS, SIZE
from catalog.covers.images import render_cover as render_facts
from catalog.covers.motifs import MOTIFS
from catalog.covers.plans import CoverFacts, plan_cover
from catalog.models import Book
from mirror.redis.recorder import record
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import warm_up


def read_image(content: bytes) -> Image.Image:
    image = Image.open(BytesIO(content))
    image.load()
    return image


def render_cover(book_id: int, title: str, author: str, design: str = "") -> bytes:
    return render_facts(CoverFacts(book_id, title, author, design))


def test_every_layout_is_drawn() -> None:
    ids = {plan_cover(CoverFacts(pk, "Dune")).layout: pk for pk in range(100)}
    drawn = {render_cover(pk, "", "") for pk in ids.values()}
    assert len(drawn) == len(LAYOUTS)
    image = read_image(next(iter(drawn)))
    assert (image.format, image.size) == ("PNG", SIZE)


def test_every_motif_is_drawn() -> None:
    facts = [CoverFacts(pk, "", design=name) for name in DESIGNS for pk in range(3000)]
    plans = {plan.motif: one for one in facts if (plan := plan_cover(one)).layout == LAYOUTS[0]}
    assert set(plans) == set(MOTIFS.values())
    assert len({render_facts(one) for one in plans.values()}) == len(MOTIFS)


def test_colours_equal_those_of_the_style_sheet() -> None:
    css = (Path(settings.BASE_DIR) / "common/static/css/shelf.css").read_text(encoding="utf-8")
    found = re.findall(r"\.cloth-(\d+) \{ --cloth: (#\w+); --foil: (#\w+); --mate: (#\w+); \}", css)
    assert [tuple(colours) for _, *colours in found] == list(CLOTHS)
    stripes = re.findall(r"\.cover \.(\w+) \{ stroke-dasharray: (\d) (\d); \}", css)
    assert {name: (int(width), int(gap)) for name, width, gap in stripes} == TEXTURES


@pytest.mark.parametrize(
    ("title", "is_written"),
    [
        ("Les Mis\u00e9rables", True),
        ("\u0410\u043d\u043d\u0430", True),
        ("\u4e09\u4f53", False),
        ("\u0628", False),
        ("Dune \u4e09", False),
    ],
)
def test_titles_are_written_in_full_or_not_at_all(title: str, is_written: bool) -> None:
    assert (render_cover(1, title, "") != render_cover(1, "", "")) == is_written


def test_an_overlong_title_does_not_fail() -> None:
    assert read_image(render_cover(1, "Donaudampfschifffahrtsgesellschaft" * 10, "x" * 200)).size == SIZE


@pytest.mark.django_db(transaction=True)
class TestView:
    """The address of the image."""

    @pytest.fixture
    def book(self) -> Book:
        book = make_book("Dune", authors="Frank Herbert")
        warm_up()
        return book

    def test_the_address_in_the_page_is_immutable(self, client: Client, book: Book) -> None:
        html = client.get(f"/books/{book.pk}/").content.decode()
        found = re.search(r'property="og:image" content="([^"]*)"', html)
        assert found
        with record() as seen:
            response = client.get(found[1].removeprefix(settings.SITE_URL))
        assert (seen.round_trips, seen.sql) == (1, [])
        assert (response.status_code, response.headers["Content-Type"]) == (200, "image/png")
        assert read_image(response.content).size == SIZE
        assert set(response.headers["Cache-Control"].split(", ")) == {"max-age=31536000", "immutable", "public"}
        assert not response.cookies
        assert "Cookie" not in response.headers.get("Vary", "")

    def test_another_version_is_cached_for_an_hour(self, client: Client, book: Book) -> None:
        for query in ("", "?v=0"):
            response = client.get(f"/books/{book.pk}/cover.png{query}")
            assert set(response.headers["Cache-Control"].split(", ")) == {"max-age=3600", "public"}

    def test_a_new_title_has_a_new_address(self, client: Client, book: Book) -> None:
        before = client.get(f"/books/{book.pk}/").content.decode()
        Book.objects.filter(pk=book.pk).update(title="Dune Messiah")
        warm_up()
        after = client.get(f"/books/{book.pk}/").content.decode()
        versions = [re.findall(r"cover\.png\?v=(\w+)", html) for html in (before, after)]
        assert versions[0] != versions[1]

    def test_a_missing_book_is_404(self, client: Client, book: Book) -> None:
        Book.objects.all().delete()
        warm_up()
        for pk in (book.pk, 2**70):
            assert client.get(f"/books/{pk}/cover.png").status_code == 404
