"""The mirror of sessions."""

from typing import Any

import orjson
import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client
from redis import Redis

from accounts import keys
from accounts.models import Session, User
from mirror import registry
from mirror.redis.recorder import record
from mirror.relay import apply
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from mirror.verify.runs import verify

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def warm_sessions() -> None:
    rebuild(["session"])


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password="a quiet bookshop")


def logged_in(user: User) -> tuple[Client, str]:
    """Return a browser with a session of ``user``, and the digest of the session."""
    before = set(Session.objects.values_list("pk", flat=True))
    client = Client()
    client.force_login(user)
    (digest,) = set(Session.objects.values_list("pk", flat=True)) - before
    drain_all()
    return client, digest


def said(redis: Redis, digest: str) -> Any:
    """Return the record in Redis, or None."""
    drain_all()
    raw = redis.get(keys.session(digest))
    return orjson.loads(raw) if raw else None


def test_a_session_has_a_record_and_entries_of_its_user(redis: Redis, alice: User) -> None:
    _, digest = logged_in(alice)
    found = said(redis, digest)
    assert found["user"]["name"] == "alice"
    assert found["user"]["auth"] == alice.get_session_auth_hash()
    assert redis.hgetall(keys.tokens()) == {digest.encode(): str(alice.pk).encode()}
    assert redis.zrange(keys.sessions_of(alice.pk), 0, -1, withscores=True) == [(digest.encode(), found["since"])]
    assert verify(["session"]) == []


def test_an_anonymous_session_has_no_user_entries(redis: Redis) -> None:
    client = Client()
    session = client.session
    session["cart"] = 1
    session.save()
    (digest,) = Session.objects.values_list("pk", flat=True)
    assert said(redis, digest)["user"] is None
    assert redis.exists(keys.tokens()) == 0
    assert verify(["session"]) == []


def test_an_ended_session_leaves_nothing(redis: Redis, alice: User) -> None:
    client, digest = logged_in(alice)
    client.logout()
    assert said(redis, digest) is None
    assert redis.exists(keys.tokens(), keys.sessions_of(alice.pk)) == 0


def test_an_expired_session_stays_until_its_row_is_deleted(redis: Redis, alice: User) -> None:
    """Otherwise ``verify`` would report a difference without a change."""
    _, digest = logged_in(alice)
    Session.objects.update(expire_date="2001-01-01T00:00:00Z")
    assert said(redis, digest)["expires"] == 978307200.0
    assert verify(["session"]) == []


@pytest.mark.parametrize(
    ("column", "value", "name"),
    [
        ("is_active", False, "is_active"),
        ("is_staff", True, "is_staff"),
        ("username", "alicia", "name"),
        ("session_secret", "x", "auth"),
        ("password", "x", "auth"),
    ],
)
def test_raw_sql_on_a_user_updates_each_of_the_sessions(
    column: str, value: str | bool, name: str, redis: Redis, alice: User
) -> None:
    digests = [logged_in(alice)[1], logged_in(alice)[1]]
    _, other = logged_in(User.objects.create_user("bob"))
    before, others = [said(redis, d)["user"][name] for d in digests], said(redis, other)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE accounts_user SET {column} = %s WHERE id = %s", [value, alice.pk])
    after = [said(redis, d)["user"][name] for d in digests]
    assert after[0] == after[1] != before[0]
    assert said(redis, other) == others
    assert verify(["session"]) == []


def test_rights_follow_staff_groups_and_permissions(redis: Redis, alice: User) -> None:
    _, digest = logged_in(alice)
    permissions = list(Permission.objects.order_by("pk")[:3])
    group = Group.objects.create(name="buyers")

    def rights() -> str:
        found: str = said(redis, digest)["user"]["rights"]
        return found

    seen = [rights()]
    assert seen == [""]
    for change in (
        lambda: User.objects.filter(pk=alice.pk).update(is_staff=True),
        lambda: alice.user_permissions.add(permissions[0]),
        lambda: alice.groups.add(group),
        lambda: group.permissions.add(permissions[1]),
        lambda: group.permissions.set([permissions[2]]),
        lambda: User.objects.filter(pk=alice.pk).update(is_superuser=True),
    ):
        change()
        seen.append(rights())
    assert len(set(seen)) == len(seen)
    group.delete()
    alice.user_permissions.clear()
    User.objects.filter(pk=alice.pk).update(is_superuser=False)
    assert rights() == seen[1]
    assert verify(["session"]) == []


def test_a_rebuild_needs_the_same_queries_for_any_number_of_sessions(alice: User) -> None:
    alice.groups.add(Group.objects.create(name="buyers"))
    logged_in(alice)
    with record() as few:
        rebuild(["session"])
    for n in range(20):
        logged_in(User.objects.create_user(f"reader {n}"))
    with record() as many:
        rebuild(["session"])
    assert len(many.sql) == len(few.sql)


def test_deleting_a_user_deletes_the_sessions(redis: Redis, alice: User) -> None:
    _, digest = logged_in(alice)
    alice.delete()
    assert said(redis, digest) is None
    assert redis.exists(keys.tokens()) == 0
    assert verify(["session"]) == []


def test_concurrent_logins_do_not_restart_a_drain(redis: Redis, alice: User) -> None:
    """All of them write the hash of tokens, so a drain that watched it would start again each time."""
    _, digest = logged_in(alice)
    steps = []

    def step(name: str) -> None:
        steps.append(name)
        if name == "write":
            redis.hset(keys.tokens(), "somebody else's", "9")

    apply.drain(registry.get("session"), [digest], full=True, step=step)
    assert steps.count("watch") == 1
