"""Declarations that mean something else in another process, or name a column that a manager rewrites, are refused."""

import datetime as dates
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import models
from django.db.models import Q
from django.utils import timezone

from mirror import Column, Count, Mirror, register
from mirror.checks import check_declarations
from tests.mirror.schemas import Sample
from tests.projects.mirrortest.models import Group, Item

pytestmark = pytest.mark.usefixtures("own_registry")


def found() -> list[Any]:
    return [error for error in check_declarations() if error.id in ("mirror.E028", "mirror.E029")]


class TranslatedRows(models.QuerySet[Any]):
    """Reads a field from the column of the present language, as libraries of translated fields do."""

    def values_list(self, *fields: Any, **options: Any) -> Any:
        return super().values_list(*("title_en" if field == "title" else field for field in fields), **options)


@pytest.fixture
def translated(isolated: None) -> type[models.Model]:
    class Translated(Sample):
        title = models.CharField(max_length=20)
        title_en = models.CharField(max_length=20)
        objects = TranslatedRows.as_manager()

    return Translated


def test_column_that_the_manager_rewrites_is_refused(translated: type[models.Model]) -> None:
    attributes = {"model": translated, "key": "translated:{pk}"}
    register(type("TranslatedMirror", (Mirror,), {**attributes, "fields": ["title"]}))
    [error] = found()
    assert error.id == "mirror.E028"
    assert "mirrortest.Translated.title, but the model's manager reads title_en" in error.msg
    assert 'Column("title_en", name="title")' in error.hint


def test_column_with_the_translation_is_accepted(translated: type[models.Model]) -> None:
    fields = [Column("title_en", name="title")]
    register(type("TranslatedMirror", (Mirror,), {"model": translated, "key": "translated:{pk}", "fields": fields}))
    assert found() == []


@pytest.mark.parametrize(
    "value",
    [
        timezone.now() - timedelta(days=30, microseconds=timezone.now().microsecond == 0),
        datetime(2024, 1, 1, 0, 0, 0, 1, UTC),
        timezone.now,
        [object()],
    ],
)
def test_condition_with_the_moment_of_the_import_is_refused(value: object) -> None:
    attributes = {"model": Item, "key": "moment:{pk}", "fields": ["name"], "where": Q(name=value)}
    register(type("MomentMirror", (Mirror,), attributes))
    assert [error.id for error in found()] == ["mirror.E029"]


def test_condition_of_a_count_with_the_moment_of_the_import_is_refused() -> None:
    fields = [Count("items", where=~Q(name=datetime(2024, 1, 1, 0, 0, 0, 1, UTC)))]
    register(type("MomentMirror", (Mirror,), {"model": Group, "key": "moment:{pk}", "fields": fields}))
    assert [error.id for error in found()] == ["mirror.E029"]


def test_condition_computed_from_today_is_refused() -> None:
    class TodayMirror(Mirror):
        model = Item
        key = "today:{pk}"
        fields = ("name",)
        where = Q(score__gt=dates.date.today().year)  # noqa: DTZ011

    register(TodayMirror)
    [error] = found()
    assert "dates.date.today()" in error.msg


def test_constant_condition_is_accepted() -> None:
    class ConstantMirror(Mirror):
        model = Item
        key = "constant:{pk}"
        fields = ("name",)
        where = Q(score__gt=2024) & ~Q(name__in=["now", str(datetime(2024, 1, 1))])  # noqa: DTZ001

    register(ConstantMirror)
    assert found() == []
