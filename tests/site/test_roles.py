"""What each role may see and do in the admin: every address, tried by everybody, against the table in the docs."""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, Permission
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from accounts.audit.log import Kind, note
from accounts.lockout.models import FailedLogins
from accounts.models import User
from config.roles import ROLES, make_roles
from mirror.models import BackupState, Change, State
from shop.models import Cart, FakeCharge, View
from social.models import Pulled
from tests.support.names.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]

DOCS: Final = Path(__file__).resolve().parents[2] / "docs" / "security.md"
# What the admin offers to nobody, or offers in another way, whatever the permission says.
NEVER: Final = {("accounts.failedlogins", "delete")}
VERBS: Final = {"changelist": "view", "change": "view", "history": "view", "add": "add", "delete": "delete"}


class Person(NamedTuple):
    """A browser, and the role of its user ("": none)."""

    name: str
    client: Client
    role: str = ""


@pytest.fixture
def roles(db: None) -> None:
    make_roles(Group, Permission)  # a test with real commits empties the table


def test_the_docs_have_the_table_of_the_code() -> None:
    lines = [line.strip("|").split("|") for line in DOCS.read_text().splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in lines[0][1:]]
    told: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for model, *cells in lines[2:]:
        for name, cell in zip(names, cells, strict=True):
            if cell.strip():
                told[name][re.findall("`(.+)`", model)[0]] = {verb.strip() for verb in cell.split(",")}
    assert told == {name: {m: set(verbs.split()) for m, verbs in models.items()} for name, models in ROLES.items()}


def test_a_role_that_exists_keeps_its_permissions(roles: None) -> None:
    support = Group.objects.get(name="support")
    assert support.permissions.count() == sum(len(verbs.split()) for verbs in ROLES["support"].values())
    support.permissions.clear()
    Group.objects.filter(name="shop").delete()
    make_roles(Group, Permission)
    assert support.permissions.count() == 0
    assert Group.objects.get(name="shop").permissions.filter(codename="change_order").exists()


@pytest.mark.slow(50)
def test_every_address_of_the_admin_answers_each_role_as_the_table_says(roles: None) -> None:
    rows = _rows()
    people = list(_people())
    wrong: list[str] = []
    for model in admin.site._registry:
        for name, path in _addresses(model, rows[model]):
            for person in people:
                for method in ("get", "post"):
                    status = getattr(person.client, method)(path).status_code
                    if not _is_right(person, model._meta.label_lower, name, method, status):
                        wrong.append(f"{person.name}: {method} {path} {status}")
    assert "\n".join(wrong) == ""


def test_the_other_addresses_of_the_admin_fail_for_nobody(roles: None) -> None:
    labels = {model._meta.app_label for model in admin.site._registry}
    plain = [str(p.pattern) for p in admin.site.get_urls() if isinstance(p, URLPattern) and "<" not in str(p.pattern)]
    paths = [path for path in plain if path.replace("/", "").isidentifier() and path != "logout/"]
    for person in _people():
        for path in ["", *paths, "r/1/1/", "nothing/"]:
            assert person.client.get(f"/admin/{path}").status_code < 500, (person.name, path)
        for label in labels:
            status = person.client.get(f"/admin/{label}/").status_code
            shown = any(m.split(".")[0] == label and m not in ("loginlog.report",) for m in ROLES.get(person.role, {}))
            assert (status == 200) == (shown or person.name == "superuser"), (person.name, label, status)


@pytest.mark.parametrize("role", sorted(ROLES))
def test_only_analysts_see_the_login_report(roles: None, role: str) -> None:
    person = next(person for person in _people() if person.role == role)
    is_analyst = role == "analyst"
    assert person.client.get("/loginlog/report/").status_code == (200 if is_analyst else 403)
    assert person.client.get("/loginlog/report/?format=csv").status_code == (200 if is_analyst else 403)
    assert ("/loginlog/report/" in person.client.get("/admin/").content.decode()) == is_analyst


def _is_right(person: Person, label: str, name: str, method: str, status: int) -> bool:
    if person.name == "stranger":
        return status == 302
    allowed = ROLES.get(person.role, {}).get(label, "").split()
    verb = VERBS.get(name)
    if name == "change" and method == "post":
        verb = "change"
    if person.name == "superuser":
        return status < 500
    if verb is None:  # a page that Django, or the library, has beside the usual ones
        return status < 500 and (status != 200 or bool(allowed))
    if person.name == "member":
        return status == 302
    is_allowed = verb in allowed and (label, verb) not in NEVER
    if method == "post" and name == "history":
        return status in (200, 403, 405)
    return status < 400 if is_allowed else status == 403


def _people() -> Iterator[Person]:
    yield Person("stranger", Client())
    for name in ("member", "staff", *ROLES, "superuser"):
        user = User.objects.create_user(f"a {name}", is_staff=name != "member", is_superuser=name == "superuser")
        user.groups.set(Group.objects.filter(name=name))
        client = Client()
        client.force_login(user)
        yield Person(name, client, name if name in ROLES else "")


def _addresses(model: type[Model], row: Model) -> Iterator[tuple[str, str]]:
    """Each page of a model: what it is for ("change"), and its address with a row that exists."""
    options = model._meta
    start = f"{options.app_label}_{options.model_name}_"
    for entry in admin.site._registry[model].get_urls():
        if isinstance(entry, URLPattern):
            path = re.sub("<[^>]+>", quote(str(row.pk)), str(entry.pattern))
            yield (entry.name or "").removeprefix(start), f"/admin/{options.app_label}/{options.model_name}/{path}"


def _rows() -> dict[type[Model], Any]:
    """One row of each model that the admin shows. The user is none of the staff."""
    world = World()
    reader = world.readers[0]
    Client().force_login(reader)
    later = timezone.now() + timedelta(hours=1)
    Cart.objects.create(digest="0" * 64, user=reader, lines={}, version=1)
    View.objects.create(visitor="0" * 64, user=reader, book=world.other_book)
    FakeCharge.objects.create(key="charge", amount=1, succeeds=True)
    FailedLogins.objects.create(key="k", kind="pair", name="x", address="y", count=1, allowed=5, ends_at=later)
    Pulled.objects.create(user=reader)
    note(Kind.EXPORT, "a file")
    State.objects.get_or_create(mirror="user")
    BackupState.objects.get_or_create(backup="last_seen")
    Change.objects.create(mirror="user", source="", key=str(reader.pk))
    return {model: reader if model is User else model._default_manager.first() for model in admin.site._registry}
