"""Permissions of the roles in the admin. ``test_access_matrix`` requests every address with every role."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client

from accounts.models import User
from config.roles import ADDED, ROLES, add_permissions, make_roles

pytestmark = pytest.mark.django_db

DOCS: Final = Path(__file__).resolve().parents[2] / "docs" / "security.md"


class Person(NamedTuple):
    """A browser and the role of its user ("": no role)."""

    name: str
    client: Client
    role: str = ""


@pytest.fixture
def roles(db: None) -> None:
    make_roles(Group, Permission)  # the flush of transactional tests deletes the groups


def test_documented_roles_equal_the_code() -> None:
    section = DOCS.read_text().partition("## Roles")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in lines[0][1:]]
    told: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for model, *cells in lines[2:]:
        for name, cell in zip(names, cells, strict=True):
            if cell.strip():
                told[name][re.findall("`(.+)`", model)[0]] = {verb.strip() for verb in cell.split(",")}
    assert told == {name: {m: set(verbs.split()) for m, verbs in models.items()} for name, models in ROLES.items()}


def test_existing_role_keeps_its_permissions(roles: None) -> None:
    support = Group.objects.get(name="support")
    assert support.permissions.count() == sum(len(verbs.split()) for verbs in ROLES["support"].values())
    support.permissions.clear()
    Group.objects.filter(name="shop").delete()
    make_roles(Group, Permission)
    assert support.permissions.count() == 0
    add_permissions(Group, Permission, ADDED)  # a later migration
    assert set(support.permissions.values_list("codename", flat=True)) == {"view_auditevent", "view_cart"}
    assert Group.objects.get(name="shop").permissions.filter(codename="change_order").exists()


def test_each_role_sees_the_applications_of_its_models(roles: None) -> None:
    for person in _people():
        for label in {model._meta.app_label for model in admin.site._registry}:
            status = person.client.get(f"/admin/{label}/").status_code
            models = ROLES.get(person.role, {})
            shown = any(m.split(".")[0] == label and m not in ("loginlog.report",) for m in models)
            # The permissions of books apply to wishes, and those of orders to invoices.
            shown = shown or {"wishes": "catalog.book", "invoices": "shop.order"}.get(label) in models
            assert (status == 200) == (shown or person.name == "superuser"), (person.name, label, status)


@pytest.mark.parametrize("role", sorted(ROLES))
def test_only_analysts_see_the_login_report(roles: None, role: str) -> None:
    person = next(person for person in _people() if person.role == role)
    is_analyst = role == "analyst"
    assert person.client.get("/loginlog/report/").status_code == (200 if is_analyst else 403)
    assert person.client.get("/loginlog/report/?format=csv").status_code == (200 if is_analyst else 403)
    assert ("/loginlog/report/" in person.client.get("/admin/").content.decode()) == is_analyst


def _people() -> Iterator[Person]:
    yield Person("stranger", Client())
    for name in ("member", "staff", *ROLES, "superuser"):
        user = User.objects.create_user(f"a {name}", is_staff=name != "member", is_superuser=name == "superuser")
        user.groups.set(Group.objects.filter(name=name))
        client = Client()
        client.force_login(user)
        yield Person(name, client, name if name in ROLES else "")
