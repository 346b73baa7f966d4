"""Forged records in Redis grant no rights: each is signed for its token, and SQL alone decides about writes."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import User
from accounts.sessions.rows import parse_record
from mirror.redis.recorder import record
from mirror.relay import send
from mirror.relay.drains import drain_all
from mirror.tasks import drain_keys
from mirror.verify.runs import verify
from social.models import Post
from tests.support.accounts.sessions import (
    alice,
    browser_with_token,
    desk,
    log_in,
    read_digest,
    read_token,
    read_user_name,
    update_by_raw_sql,
    warm_sessions,
)

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.support.accounts.session_urls")]

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


def copy_unchanged(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the superuser as it is."""
    return other


def edit_user_id(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the reader with the id of the superuser."""
    return record | {"user": record["user"] | {"id": other["user"]["id"]}}


def extend(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the reader with a later end."""
    return record | {"expires": record["expires"] + 1e6}


@pytest.fixture
def worker() -> Iterator[None]:
    """Perform the drains that requests ask of workers at once."""

    def perform(name: str, *arguments: Any, **options: Any) -> bool:
        return name != "drain_keys" or drain_keys(*arguments) == 0

    with send.performed_by(perform):
        yield


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


@pytest.mark.parametrize("how", [set_flags, copy, copy_data_alone, copy_unchanged, edit_user_id, extend])
def test_a_record_that_the_site_did_not_sign_for_this_token_is_replaced(
    redis: Redis, worker: None, desk: Client, root: Client, how: Forge
) -> None:
    forge(redis, desk, root, how)
    assert read_user_name(desk) == "alice"
    assert verify(["session"]) == []  # the record is written again
    with record() as seen:
        assert read_user_name(desk) == "alice"
    assert seen.sql == []


NO_RECORDS = ["", "no JSON", "[]", "7", "{}", '{"signature": null}', '{"signature": "a:b", "user": 1}']


@pytest.mark.parametrize("raw", NO_RECORDS)
def test_a_value_that_is_no_record_is_replaced(redis: Redis, worker: None, desk: Client, raw: str) -> None:
    drain_all()
    redis.set(keys.session(read_digest(desk)), raw)
    assert read_user_name(desk) == "alice"
    assert desk.get("/accounts/sessions/").status_code == 200
    assert verify(["session"]) == []


def test_a_record_without_a_session_in_sql_opens_nothing(redis: Redis, worker: None, desk: Client) -> None:
    drain_all()
    stranger = browser_with_token("a" * 32)
    redis.copy(keys.session(read_digest(desk)), keys.session(read_digest(stranger)))
    assert read_user_name(stranger) == ""
    assert verify(["session"]) == []


def test_the_list_of_sessions_shows_no_forged_record(redis: Redis, alice: User, desk: Client, root: Client) -> None:
    drain_all()
    other = log_in(alice, "curl/8.5.0")
    drain_all()
    forged = orjson.loads(redis.get(keys.session(read_digest(other)))) | {"device": "a forged device"}  # type: ignore[arg-type]
    redis.set(keys.session(read_digest(other)), orjson.dumps(forged))
    page = desk.get("/accounts/sessions/").content.decode()
    assert "curl" in page
    assert "a forged device" not in page


def test_an_older_record_gives_its_own_token_nothing_but_pages_to_read(redis: Redis, alice: User, desk: Client) -> None:
    """A record of an ended session is signed for the token of that session, until the session would have expired."""
    drain_all()
    name, older = keys.session(read_digest(desk)), redis.get(keys.session(read_digest(desk)))
    ended = browser_with_token(read_token(desk))
    desk.post("/accounts/logout/")
    redis.set(name, older)  # type: ignore[arg-type]
    ended.post("/posts/", {"text": "after the end"})
    assert ended.post("/who/").json()["user"] == ""
    assert Post.objects.count() == 0


def test_an_older_record_of_another_session_is_not_read(redis: Redis, alice: User, desk: Client, root: Client) -> None:
    drain_all()
    older = redis.get(keys.session(read_digest(root)))
    update_by_raw_sql("is_staff", False, User.objects.get(username="root"))
    redis.set(keys.session(read_digest(desk)), older)  # type: ignore[arg-type]
    assert read_user_name(desk) == "alice"


def test_records_of_the_former_key_are_read_until_they_are_written_again(
    redis: Redis, desk: Client, settings: Settings
) -> None:
    drain_all()
    raw = redis.get(keys.session(read_digest(desk)))
    assert isinstance(raw, bytes)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "x" * 50
    assert parse_record(read_digest(desk), raw)
    settings.SECRET_KEY_FALLBACKS = []
    assert parse_record(read_digest(desk), raw) is None


def test_last_seen_times_admit_nobody(redis: Redis, alice: User, desk: Client) -> None:
    drain_all()
    ended = browser_with_token(read_token(desk))
    desk.post("/accounts/logout/")
    drain_all()
    redis.zadd(keys.recent(), {read_digest(ended): 4e9})
    redis.hset(keys.tokens(), read_digest(ended), str(alice.pk))
    assert read_user_name(ended) == ""
