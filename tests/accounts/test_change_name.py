"""A user changes the name: the old one redirects, and stays reserved for a year."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.audit.models import AuditEvent
from accounts.models import FormerName, User
from accounts.users.renaming import delete_expired_names
from mirror.relay.drains import drain_all
from social.models import Block, Follow
from social.services.posts import create_post
from tests.support.accounts.lockout import PASSWORD, log_in
from tests.support.warm_mirrors import rebuild

NAME, JSON = "/accounts/name/", {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


def make_reader(name: str, **fields: Any) -> tuple[User, Client]:
    user, client = User.objects.create_user(name, password=PASSWORD, **fields), Client()
    log_in(client, name)
    return user, client


def change(client: Client, name: str, password: str = PASSWORD) -> str:
    """Submit the form. Return "" after a change, or the errors."""
    response: Any = client.post(NAME, {"username": name, "password": password})
    return "" if response.status_code == 302 else str(dict(response.context["form"].errors))


def register(name: str) -> int:
    given = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    return Client().post("/accounts/register/", given).status_code


def test_the_old_name_redirects_and_stays_reserved(redis: Redis, settings: Settings) -> None:
    ann, client = make_reader("Ann Lee")
    other, reader = make_reader("otto")
    post = create_post(other.pk, "well said, @Ann Lee")
    create_post(ann.pk, "my own post")
    rebuild()
    now = timezone.now()
    settings.CLOCK = lambda: now

    assert "This password is wrong" in change(client, "Ann Reed", "wrong")
    for refused in ("OTTO", "0tto", "admin", "people"):
        assert "already taken" in change(client, refused)
    assert "already your name" in change(client, "Ann Lee")
    assert change(client, "Ann Reed") == ""
    drain_all()
    assert "Ann Reed" in client.get("/accounts/").content.decode(), "the session stays"
    assert redis.get("login:ann reed:id") == str(ann.pk).encode()
    assert redis.get("login:ann lee:id") is None
    assert AuditEvent.objects.filter(kind="name", actor=ann).count() == 1
    assert "less than 30 days" in change(client, "Ann Short")

    # Every page of the old name leads to the same page of the new one, in each spelling.
    for rest in ("", "followers/", "following/", "shelves/", "shelves/2025.png", "feed/", "shelves/read/feed/"):
        for browser in (Client(), reader):
            response = browser.get(f"/u/ann lee/{rest}?after=7")
            assert (response.status_code, response.headers["Location"]) == (301, f"/u/Ann%20Reed/{rest}?after=7")
    assert reader.get("/u/Ann%20Lee/", headers=JSON).status_code == 301
    assert '<a href="/u/Ann%20Lee/"' in reader.get(f"/posts/{post.pk}/").content.decode()
    assert "my own post" in reader.get("/u/Ann%20Lee/", follow=True).content.decode()
    reader.post("/u/Ann%20Lee/follow/")
    assert Follow.objects.filter(follower=other, followee=ann).exists(), "a page from before the change"
    Block.objects.create(blocker=ann, blocked=other)
    drain_all()
    assert reader.get("/u/Ann%20Lee/").status_code == 404, "the answer to a blocked reader does not tell the new name"

    # Nobody else gets it, nor one that looks like it, before a year is over.
    assert [register("ann lee"), register("Ann 1ee")] == [200, 200]
    now += timedelta(days=31)
    assert change(client, "ANN LEE") == "", "the owner may take it back"
    assert list(FormerName.objects.values_list("name", flat=True)) == ["Ann Reed"]
    assert Client().get("/u/Ann%20Reed/").headers["Location"] == "/u/ANN%20LEE/"
    now += timedelta(days=366)
    delete_expired_names()
    assert Client().get("/u/Ann%20Reed/").status_code == 404
    assert register("Ann Reed") == 302


def test_staff_change_a_name_in_the_admin(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = False
    user, _ = make_reader("Rude Name")
    make_reader("someone")
    _, staff = make_reader("boss", is_staff=True, is_superuser=True)
    page: Any = staff.get(f"/admin/accounts/user/{user.pk}/change/")
    form = page.context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items() if value is not False}
    given |= {"groups": [], "user_permissions": [], "username": "Reader 17"}
    for inline in page.context["inline_admin_formsets"]:
        counts = inline.formset.management_form.initial
        given |= {f"{inline.formset.prefix}-{name}": value for name, value in counts.items()}
    response = staff.post(f"/admin/accounts/user/{user.pk}/change/", given)
    assert response.status_code == 302
    assert Client().get("/u/Rude%20Name/").headers["Location"] == "/u/Reader%2017/"
