"""The token of a session: its storage, its rotation and its end."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import middleware
from accounts.models import Session, User
from mirror.relay.drains import drain_all
from tests.support.accounts.sessions import (
    PASSWORD,
    alice,
    browser_with_token,
    desk,
    log_in,
    read_digest,
    read_session_values,
    read_token,
    read_user_name,
    warm_sessions,
)

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.support.accounts.session_urls")]
STAFF_PAGE = "/admin/auth/group/"


def everything(redis: Redis) -> str:
    """Return the whole content of SQL and Redis as text."""
    found: list[object] = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found.append(cursor.fetchall())
    for key in redis.scan_iter("*"):
        found += [key, redis.dump(key)]
        match redis.type(key):
            case b"string":
                found.append(redis.get(key))
            case b"hash":
                found.append(redis.hgetall(key))
            case b"zset":
                found.append(redis.zrange(key, 0, -1))
            case b"set":
                found.append(redis.smembers(key))
            case b"list":
                found.append(redis.lrange(key, 0, -1))
    return repr(found)


def test_the_token_is_stored_nowhere(desk: Client, redis: Redis) -> None:
    desk.get("/keep/?colour=blue")
    desk.get("/accounts/sessions/")
    drain_all()
    said = everything(redis)
    assert read_digest(desk) in said
    assert read_token(desk) not in said


def test_login_rotates_the_token_and_keeps_anonymous_data(alice: User) -> None:
    client = Client()
    client.get("/keep/?colour=blue")
    before = read_token(client)
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert read_token(client) != before
    assert read_session_values(client) == {"colour": "blue"}
    assert read_session_values(browser_with_token(before)) == {}
    assert Session.objects.count() == 1


def test_a_planted_token_is_not_adopted(alice: User) -> None:
    client = browser_with_token("planted-by-somebody-else-0123456")
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert read_user_name(client) == "alice"
    assert read_user_name(browser_with_token("planted-by-somebody-else-0123456")) == ""


def test_a_repeated_login_rotates_the_token(alice: User, desk: Client) -> None:
    before = read_token(desk)
    desk.force_login(alice)
    assert read_token(desk) != before
    assert read_user_name(desk) == "alice"
    assert read_user_name(browser_with_token(before)) == ""


def test_logout_ends_the_session_and_replaces_the_cookie(desk: Client) -> None:
    before = read_token(desk)
    desk.get("/keep/?colour=blue")
    response = desk.post("/accounts/logout/")
    assert before not in response.cookies["sessionid"].value
    assert read_user_name(browser_with_token(before)) == ""
    assert read_session_values(desk) == {}
    assert not Session.objects.filter(user__isnull=False).exists()


def test_login_as_another_user_begins_with_an_empty_session(alice: User, desk: Client) -> None:
    desk.get("/keep/?colour=blue")
    before = read_token(desk)
    desk.force_login(User.objects.create_user("bob"))
    assert (read_user_name(desk), read_session_values(desk)) == ("bob", {})
    assert read_user_name(browser_with_token(before)) == ""


def test_a_request_cannot_save_a_session_that_ended_meanwhile(desk: Client) -> None:
    before = read_token(desk)
    assert desk.get("/ended-meanwhile/").status_code == 400
    assert read_user_name(browser_with_token(before)) == ""
    assert Session.objects.count() == 0


def test_more_rights_rotate_the_token_and_keep_the_data(alice: User, desk: Client) -> None:
    desk.get("/keep/?colour=blue")
    before, row = read_token(desk), Session.objects.get()
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    drain_all()
    assert read_user_name(desk) == "alice"
    after = read_token(desk)
    assert after != before
    assert read_session_values(desk) == {"colour": "blue"}
    assert read_user_name(browser_with_token(before)) == ""
    assert read_token(desk) == after  # it rotates once
    assert (Session.objects.get().device, Session.objects.get().user) == (row.device, alice)
    assert desk.get(STAFF_PAGE).status_code == 200


@pytest.mark.parametrize("what", ["staff", "group", "permission"])
def test_fewer_rights_rotate_the_token(what: str, alice: User) -> None:
    group = Group.objects.create(name="buyers")
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.groups.add(group)
    group.permissions.add(Permission.objects.order_by("pk")[0])
    desk = log_in(alice)
    before = read_token(desk)
    assert read_user_name(desk) == "alice"
    assert read_token(desk) == before
    if what == "staff":
        User.objects.filter(pk=alice.pk).update(is_staff=False)
    elif what == "group":
        alice.groups.clear()
    else:
        group.permissions.clear()
    drain_all()
    assert read_user_name(desk) == "alice"
    assert read_token(desk) != before


def test_concurrent_requests_rotate_the_token_once(alice: User, desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    drain_all()
    late = browser_with_token(read_token(desk))
    rotate = middleware.rotate_if_rights_changed

    def after_another(session: Any) -> None:
        monkeypatch.setattr(middleware, "rotate_if_rights_changed", rotate)
        assert read_user_name(desk) == "alice"
        rotate(session)

    monkeypatch.setattr(middleware, "rotate_if_rights_changed", after_another)
    response = late.get("/who/")
    assert response.json()["user"] == "alice"  # the session was valid at the start of the request
    assert "sessionid" not in response.cookies
    assert Session.objects.count() == 1
    assert read_user_name(desk) == "alice"


def test_changing_the_own_password_ends_all_other_sessions(alice: User, desk: Client) -> None:
    phone, bob = log_in(alice), log_in(User.objects.create_user("bob"))
    desk.get("/keep/?colour=blue")
    before = read_token(desk)
    desk.post("/change-password/", {"password": "a noisy bookshop"})
    assert (read_user_name(desk), read_user_name(phone), read_user_name(bob)) == ("alice", "", "bob")
    assert read_session_values(desk) == {"colour": "blue"}
    assert read_token(desk) != before
    assert Session.objects.filter(user=alice).count() == 1


def test_a_password_changed_elsewhere_ends_every_session(alice: User, desk: Client) -> None:
    alice.set_password("a noisy bookshop")
    alice.save()
    assert Session.objects.count() == 0
    assert read_user_name(desk) == ""


def test_a_rehashed_password_ends_no_session(alice: User, desk: Client, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)
    assert User.objects.get(pk=alice.pk).password.startswith("pbkdf2")
    assert Session.objects.count() == 1
