"""The mirrors of accounts watch exactly the columns that their records depend on."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import BooleanField, DateTimeField, Field

from accounts.models import Session, User
from mirror import SummaryMirror, registry
from mirror.models import Change
from tests.support.accounts.people import NOON, make_people

pytestmark = pytest.mark.django_db
COLUMNS = [field for field in User._meta.concrete_fields if not field.primary_key and not field.generated]


def another(field: Field, old: Any) -> Any:
    """Return another valid value of a column."""
    if isinstance(field, BooleanField):
        return not old
    if isinstance(field, DateTimeField):
        return old + datetime.timedelta(days=1)
    return "office" if field.name == "user_type" else f"{old}x"


def said(mirror: str, pk: str) -> Any:
    """Return the record (or the list) computed from SQL."""
    declared = registry.get(mirror)
    if isinstance(declared, SummaryMirror):
        return declared.items()
    return declared.record(declared.load([pk])[pk])


@pytest.fixture
def alice() -> User:
    """Return a user with a login and a session, so that all columns matter."""
    [alice] = make_people([1])
    Session.objects.create(pk="d" * 64, user=alice, session_data="", expire_date=NOON)
    Change.objects.all()._raw_delete("default")
    return alice


@pytest.mark.parametrize("field", COLUMNS, ids=lambda field: field.name)
@pytest.mark.parametrize(
    ("mirror", "key"),
    [("session", lambda alice: "d" * 64), ("user", lambda alice: str(alice.pk)), ("last_logins", lambda alice: "")],
    ids=["session", "user", "last_logins"],
)
def test_exactly_the_columns_that_change_the_record_are_watched(
    field: Field, mirror: str, key: Callable[[User], str], alice: User
) -> None:
    before = said(mirror, key(alice))
    User.objects.filter(pk=alice.pk).update(**{field.name: another(field, getattr(alice, field.name))})
    is_other = said(mirror, key(alice)) != before
    assert Change.objects.filter(mirror=mirror).exists() is is_other


def test_a_new_user_changes_neither_sessions_nor_lists(alice: User) -> None:
    User.objects.create(username="bob")
    told = set(Change.objects.values_list("mirror", flat=True))
    # Search indexes the user. The change of the unread timeline has no effect, and is deleted with the user.
    assert told == {"user", "indexed_reader", "timeline"}


def test_a_deleted_user_is_removed_from_all_mirrors(alice: User) -> None:
    pk = str(alice.pk)
    alice.delete()
    told = set(Change.objects.filter(source="").values_list("mirror", "key"))
    assert {("session", "d" * 64), ("user", pk), ("last_logins", "")} <= told
