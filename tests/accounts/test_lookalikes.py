"""Names that look like other names, or like web addresses, are refused."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client

from accounts.admin_tools.forms import UserChangeForm
from accounts.lookalikes import skeleton
from accounts.models import User
from accounts.users.registration import register_user

pytestmark = pytest.mark.django_db
PASSWORD = "a quiet bookshop"


def is_refused(name: str) -> bool:
    try:
        register_user(name, PASSWORD)
    except ValidationError as error:
        return list(error.message_dict) == ["username"]
    return False


@pytest.mark.parametrize(
    "name",
    [
        "alice\u3164",  # a Hangul filler, which counts as a letter
        "\u115f\u1160",
        "ali\u034fce",
        "p\u0430ypal",  # Latin with a Cyrillic a
        "\u03b1lpha",  # Latin with a Greek alpha
        "\u4e8c\u0430",
        "www.evil.photography",
        "evil.com",
        "\ufdfa" * 60,  # folds to a thousand letters
    ],
)
def test_misleading_names_are_refused(name: str) -> None:
    assert is_refused(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("paypal", "paypa1"),
        ("linus", "Iinus"),  # a capital I
        ("modern", "modem"),
        ("coco", "\u0441\u043e\u0441\u043e"),  # all Cyrillic
        ("\u03bf\u03c1", "op"),  # all Greek
        ("demo staff", "dem0 staff"),
    ],
)
def test_a_name_that_looks_like_an_existing_one_is_refused(name: str, other: str) -> None:
    User.objects.create_user(name, is_staff="staff" in name)
    assert is_refused(other)


@pytest.mark.parametrize("name", ["adm1n", "ADMlN", "r00t", "r.0.0.t", "supp\u043ert", "\u0405upport", "rne", "lnfo"])
def test_a_name_that_looks_like_a_reserved_one_is_refused(name: str) -> None:
    assert is_refused(name)


@pytest.mark.parametrize(
    "name",
    [
        "\u674e\u5c0f\u9f99Ken",
        "\u3072\u3089\u30ab\u30bf\u6f22\u5b57abc",
        "\uae40Lee",
        "\u0141ukasz",
        "na\u00efve",
        "\u0412\u043b\u0430\u0434\u0438\u043c\u0438\u0440 2",
        "\u0646\u0648\u0631",
        "ken.thompson",
        "j.r.r.tolkien",
    ],
)
def test_ordinary_names_are_accepted(name: str) -> None:
    User.objects.create_user("Elia")
    User.objects.create_user("reader 1")
    assert not is_refused(name)
    assert not is_refused("Ella")
    assert not is_refused("reader 2")


def test_staff_see_the_reason_for_a_refused_lookalike(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    User.objects.create_user("paypal")
    given = {"user_type": "client", "usable_password": "false"}
    for name in ("paypa1", "p\u0430ypal", "evil.com"):
        page = client.post("/admin/accounts/user/add/", given | {"username": name})
        assert "is too similar to another name" in page.content.decode()


def test_existing_misleading_names_stay_valid_in_the_admin() -> None:
    old = User.objects.create_user("p\u0430ypal")
    assert "username" not in UserChangeForm({"username": "P\u0410YPAL"}, instance=old).errors


def test_every_write_of_a_name_writes_its_skeleton() -> None:
    one, two = User.objects.bulk_create(User(username=name) for name in ("adm1n one", "two"))
    assert User.objects.get(pk=one.pk).name_skeleton == skeleton("admln one")
    User.objects.filter(pk=two.pk).update(username="paypa1")
    assert User.objects.get(pk=two.pk).name_skeleton == "paypal"
    one.username = "1inus"
    User.objects.bulk_update([one], ["username"])
    assert User.objects.get(pk=one.pk).name_skeleton == "linus"


def test_the_migration_fills_existing_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    migration = import_module("accounts.migrations.0010_fill_name_skeleton")
    monkeypatch.setattr(migration, "BATCH", 2)
    User.objects.bulk_create(User(username=f"reader {n}") for n in range(5))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_user SET name_skeleton = ''")
    migration.fill(apps, SimpleNamespace(connection=connection))
    assert {user.name_skeleton for user in User.objects.all()} == {skeleton(f"reader {n}") for n in range(5)}
