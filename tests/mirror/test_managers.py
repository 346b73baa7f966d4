"""A mirror shows all rows of its table, whatever a manager leaves out; conditions are evaluated in UTC."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, models
from django.db.models import Q
from django.test.utils import isolate_apps
from django.utils import timezone

from mirror import Count, Mirror, Names, SetOf, register
from mirror.capture import install
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.support.mirror.items import drained

pytestmark = [pytest.mark.usefixtures("committed", "own_registry"), pytest.mark.also_on("sqlite")]


class Present(models.Manager[models.Model]):
    """Leaves deleted rows out, as libraries of soft deletion do."""

    def get_queryset(self) -> "models.QuerySet[Any]":
        return super().get_queryset().filter(deleted=False)


@pytest.fixture
def tables(own_registry: None) -> Iterator[tuple[type[models.Model], type[models.Model]]]:
    """Create the tables of a shelf and of its books, which can be deleted softly."""
    with isolate_apps("tests.projects.mirrortest"):

        class Shelf(models.Model):
            name = models.CharField(max_length=20)

            class Meta:
                app_label = "mirrortest"

            def __str__(self) -> str:
                return self.name

        class ShelvedBook(models.Model):
            title = models.CharField(max_length=20)
            at = models.DateTimeField(default=timezone.now)
            deleted = models.BooleanField(default=False)
            shelf = models.ForeignKey(Shelf, models.CASCADE, related_name="books")
            objects = Present()

            class Meta:
                app_label = "mirrortest"
                base_manager_name = "objects"

            def __str__(self) -> str:
                return self.title

    for model in (Shelf, ShelvedBook):
        with connection.schema_editor() as editor:
            editor.create_model(model)
    yield Shelf, ShelvedBook
    for model in (ShelvedBook, Shelf):
        with connection.schema_editor() as editor:
            editor.delete_model(model)


def declare(model: type[models.Model], **attributes: Any) -> Any:
    declaration: type[Mirror] = type(f"Own{model.__name__}Mirror", (Mirror,), {"model": model, **attributes})
    register(declaration)
    install.install()
    rebuild.rebuild([declaration.name])
    return declaration


def test_softly_deleted_row_stays_in_a_mirror_and_leaves_one_with_the_condition(tables: Any) -> None:
    shelf_model, book_model = tables
    shelf = shelf_model.objects.create(name="shelf")
    book = book_model.objects.create(title="old", shelf=shelf)
    everything = declare(book_model, name="every_book", key="every_book:{pk}", fields=["title"])
    present = declare(
        book_model,
        name="present_book",
        key="present_book:{pk}",
        fields=["title"],
        where=Q(deleted=False),
        indexes=[SetOf("present_books")],
    )
    shelves = declare(
        shelf_model,
        key="own_shelf:{pk}",
        fields=["name", Names("books", "title"), Count("books", where=Q(deleted=False))],
    )
    models.QuerySet(book_model).update(deleted=True, title="new")
    drained()
    for _ in ("Redis", "SQL"):
        assert everything.get(book.pk) == {"title": "new"}
        assert present.get(book.pk) is None
        assert present.members("present_books") == set()
        assert shelves.get(shelf.pk) == {"name": "shelf", "books": ["new"], "books_count": 0}
        with sql_only():
            assert everything.get(book.pk) == {"title": "new"}
            assert present.members("present_books") == set()


def test_year_in_a_condition_is_that_of_utc(tables: Any) -> None:
    shelf_model, book_model = tables
    shelf = shelf_model.objects.create(name="shelf")
    silvester = datetime(2024, 12, 31, 23, 30, tzinfo=UTC)  # 2025 in Berlin
    book = book_model.objects.create(title="a", shelf=shelf, at=silvester)
    with timezone.override("Europe/Berlin"):
        dated = declare(
            book_model,
            key="dated:{pk}",
            fields=["title"],
            where=Q(at__year=2024),
            indexes=[SetOf("dated")],
        )
        assert dated.members("dated") == {book.pk}
        with sql_only():
            assert dated.members("dated") == {book.pk}
            assert dated.get(book.pk) == {"title": "a"}
