"""The user of a request: its fields, its validity and the cost of reading it."""

import pytest
from django.conf import settings as site
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from accounts.middleware import get_user
from accounts.models import Session, User
from accounts.sessions.engine import SessionStore
from accounts.sessions.services import end_all_sessions
from catalog.local.index import local_copy
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.accounts.sessions import (
    PASSWORD,
    alice,
    desk,
    log_in,
    read_token,
    read_user_name,
    update_by_raw_sql,
    warm_sessions,
)
from tests.support.catalog.make import make_book
from tests.support.faults.tools import at_once
from tests.support.warm_mirrors import rebuild

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.support.accounts.session_urls")]


def test_session_and_user_need_one_round_trip_and_no_sql(desk: Client) -> None:
    drain_all()  # the login also changed the user, on which sessions depend
    read_user_name(desk)  # deletes the cookie of that change
    with record() as seen:
        assert read_user_name(desk) == "alice"
    assert (seen.round_trips, seen.sql) == (1, [])


def test_the_book_list_of_a_reader_needs_two_round_trips_and_no_sql(desk: Client) -> None:
    local_copy.forget()
    make_book("The Book of Sand", tags="fantasy")
    rebuild()
    assert local_copy.ensure_loaded()
    desk.get("/books/")
    with record() as seen:
        page = desk.get("/books/")
    local_copy.forget()
    assert (seen.round_trips, seen.sql) == (2, [])
    assert b"The Book of Sand" in page.content
    assert b"alice" in page.content


def test_a_login_writes_its_session_only_in_its_transaction(alice: User) -> None:
    client = Client()
    with record() as seen:
        client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    written = [sql.split(" ", 1)[0] for sql, _ in seen.sql if '"accounts_session"' in sql[:40]]
    assert [word for word in written if word != "SELECT"] == ["INSERT"]
    assert read_user_name(client) == "alice"


def test_a_read_only_page_does_not_write_the_session(desk: Client) -> None:
    row = Session.objects.values().get()
    read_user_name(desk)
    assert Session.objects.values().get() == row


def test_other_fields_of_the_user_are_deferred(alice: User, rf: RequestFactory) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    request = rf.get("/")
    request.session = SessionStore(read_token(log_in(alice)))
    with record() as seen:
        user = get_user(request)
        assert isinstance(user, User)
        known = (user.pk, user.username, user.name_key, user.user_type, user.is_active, user.is_staff, str(user))
        assert known == (alice.pk, "alice", "alice", "client", True, False, "alice")
    assert seen.sql == []
    with record() as seen:
        assert user.email == "alice@example.org"
    assert len(seen.sql) == 1
    user.username = "Alicia"
    user.save()
    assert User.objects.get_by_natural_key("ALICIA").email == "alice@example.org"


def test_staff_have_their_permissions(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.user_permissions.add(Permission.objects.get(codename="view_user"))
    client = log_in(alice)
    assert client.get("/admin/accounts/user/").status_code == 200
    assert client.get("/admin/auth/group/").status_code == 403


def test_the_asynchronous_user_is_the_same(desk: Client) -> None:
    def ask() -> None:
        assert desk.get("/awho/").json()["user"] == "alice"
        assert Client().get("/awho/").json()["user"] == ""

    with at_once(ask):  # in another thread, because this one may have a browser's event loop
        pass


@pytest.mark.parametrize(("column", "value"), [("session_secret", "another"), ("password", "another")])
def test_raw_sql_on_secret_or_password_ends_every_session(column: str, value: str, alice: User, desk: Client) -> None:
    phone = log_in(alice)
    update_by_raw_sql(column, value, alice)
    assert (read_user_name(desk), read_user_name(phone)) == ("", "")
    assert Session.objects.count() == 0  # each request flushed its invalid session


def test_the_fallback_checks_the_secret_too(alice: User, desk: Client) -> None:
    update_by_raw_sql("session_secret", "another", alice)
    with sql_only():
        assert read_user_name(desk) == ""


def test_ending_all_sessions_affects_only_their_user(alice: User, desk: Client) -> None:
    bob = log_in(User.objects.create_user("bob"))
    end_all_sessions(alice)
    assert (read_user_name(desk), read_user_name(bob)) == ("", "bob")


def test_a_deactivated_user_is_anonymous(alice: User, desk: Client) -> None:
    update_by_raw_sql("is_active", False, alice)
    assert read_user_name(desk) == ""


def test_a_deleted_user_is_anonymous(alice: User, desk: Client) -> None:
    alice.delete()
    assert read_user_name(desk) == ""


def test_a_removed_backend_ends_its_sessions(desk: Client, settings: Settings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.RemoteUserBackend"]
    assert read_user_name(desk) == ""


def test_sessions_survive_a_new_secret_key_with_a_fallback(desk: Client, settings: Settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [site.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    rebuild(["session"])
    before = read_token(desk)
    assert read_user_name(desk) == "alice"
    assert read_token(desk) != before
    settings.SECRET_KEY_FALLBACKS = []
    assert read_user_name(desk) == "alice"


def test_a_new_secret_key_without_a_fallback_ends_all_sessions(desk: Client, settings: Settings) -> None:
    settings.SECRET_KEY = "x" * 50
    assert read_user_name(desk) == ""
