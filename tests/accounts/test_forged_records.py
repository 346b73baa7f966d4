"""Forged records in Redis grant no rights: staff pages and unsafe requests read session and user from SQL."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from redis import Redis

from accounts import keys
from accounts.models import User
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from social.models import Post
from tests.support.accounts.sessions import alice, desk, log_in, read_digest, update_by_raw_sql, warm_sessions

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.support.accounts.session_urls"),
    pytest.mark.on_sqlite,
]

STAFF_PAGES = ["/admin/", "/admin/accounts/user/", "/loginlog/report/"]
Forge = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


@pytest.fixture
def root(warm_sessions: None) -> Client:
    """Return a browser with the session of a superuser."""
    return log_in(User.objects.create_superuser("root"))


def set_flags(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the reader with flags that SQL does not have."""
    return record | {"user": record["user"] | {"is_staff": True, "is_superuser": True, "rights": "forged"}}


def copy(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the superuser with the digest of the reader."""
    return other | {"digest": record["digest"]}


def copy_data_alone(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the data of the superuser without the user's fields, so that the user must be looked up."""
    return other | {"digest": record["digest"], "user": None}


def forge(redis: Redis, desk: Client, root: Client, how: Forge) -> None:
    drain_all()
    of_desk, of_root = (keys.session(read_digest(client)) for client in (desk, root))
    made = how(orjson.loads(redis.get(of_desk)), orjson.loads(redis.get(of_root)))  # type: ignore[arg-type]
    redis.set(of_desk, orjson.dumps(made))


@pytest.mark.parametrize("path", STAFF_PAGES)
@pytest.mark.parametrize("how", [set_flags, copy, copy_data_alone])
def test_a_forged_record_opens_no_staff_page(redis: Redis, desk: Client, root: Client, how: Forge, path: str) -> None:
    forge(redis, desk, root, how)
    assert desk.get(path).status_code in (302, 403)
    assert root.get(path).status_code == 200


@pytest.mark.parametrize("how", [set_flags, copy, copy_data_alone])
def test_a_forged_record_changes_nothing(redis: Redis, desk: Client, root: Client, how: Forge) -> None:
    forge(redis, desk, root, how)
    given = {"username": "mallory", "user_type": "client", "usable_password": "false"}
    assert desk.post("/admin/accounts/user/add/", given).status_code in (302, 403)
    desk.post("/posts/", {"text": "from the superuser"})
    assert not User.objects.filter(username="mallory").exists()
    assert not Post.objects.filter(user__username="root").exists()


def by_raw_sql_alone(statement: str, user: User) -> None:
    """Change the user by another program while no process drains, so that Redis keeps the old record."""
    drain_all()
    with connection.cursor() as cursor:
        cursor.execute(statement, [user.pk])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_user SET is_active = false WHERE id = %s",
        "UPDATE accounts_user SET session_secret = 'another' WHERE id = %s",
        "DELETE FROM accounts_session WHERE user_id = %s",
    ],
)
def test_sql_authorizes_posts_while_no_process_drains(alice: User, desk: Client, statement: str) -> None:
    by_raw_sql_alone(statement, alice)
    assert desk.post("/posts/", {"text": "still here"}).status_code == 302
    assert Post.objects.count() == 0


def test_a_demotion_takes_effect_at_once(root: Client) -> None:
    by_raw_sql_alone("UPDATE accounts_user SET is_staff = false WHERE id = %s", User.objects.get(username="root"))
    assert root.get("/admin/").status_code == 302


def test_pages_of_readers_need_no_sql_and_pages_of_staff_one_query(alice: User, desk: Client) -> None:
    desk.get("/healthz")
    drain_all()
    with record() as seen:
        desk.get("/accounts/sessions/")
    assert seen.sql == []
    update_by_raw_sql("is_staff", True, alice)
    desk.get("/accounts/sessions/")  # rotates the token for the new rights
    drain_all()
    with record() as seen:
        desk.get("/accounts/sessions/")
    assert len(seen.sql) == 1


def test_an_unsafe_request_reads_session_and_user_in_one_query(desk: Client) -> None:
    drain_all()
    with record() as seen:
        assert desk.post("/who/").json()["user"] == "alice"
    (statement,) = [sql for sql, _ in seen.sql if "accounts_" in sql]
    assert statement.startswith("SELECT")
