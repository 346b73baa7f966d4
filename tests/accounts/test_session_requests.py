"""Who is asking: what a request is told of its session and its user, and what that costs."""

from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import Session, User
from accounts.session_services import end_all_sessions
from catalog.index import copy
from mirror import naming
from mirror.middleware import COOKIE
from mirror.rebuild import rebuild
from mirror.recorder import record
from mirror.redis import breaker
from mirror.relay import drain_all
from mirror.sql_only import sql_only
from tests.accounts.sessions import PASSWORD, digest_in, log_in, token_in
from tests.catalog.make import make_book
from tests.servers import RedisServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.accounts.session_urls")]
STAFF_PAGE = "/admin/auth/group/"


@pytest.fixture(autouse=True)
def whole() -> None:
    rebuild(["session"])


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def desk(alice: User) -> Client:
    return log_in(alice)


def who(client: Client) -> str:
    """The name of who is logged in there; "" for a stranger."""
    name: str = client.get("/who/").json()["user"]
    return name


def kept(client: Client) -> Any:
    return client.get("/who/").json()["kept"]


def by_raw_sql(column: str, value: object, user: User) -> None:
    """Another program changes the user; the relay brings it to Redis."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE accounts_user SET {column} = %s WHERE id = %s", [value, user.pk])
    drain_all()


# --- what it costs -------------------------------------------------------------------------------


def test_session_and_user_are_one_round_trip_and_no_sql(desk: Client) -> None:
    with record() as seen:
        assert who(desk) == "alice"
    assert (seen.round_trips, seen.sql) == (1, [])


def test_the_book_list_for_somebody_logged_in_is_two_round_trips_and_no_sql(desk: Client) -> None:
    copy.forget()
    make_book("The Book of Sand", tags="fantasy")
    rebuild()
    desk.get("/books/")
    with record() as seen:
        page = desk.get("/books/")
    copy.forget()
    assert (seen.round_trips, seen.sql) == (2, [])
    assert b"The Book of Sand" in page.content
    assert b"alice" in page.content


def test_a_login_writes_its_session_once_and_at_the_answer_no_more(alice: User) -> None:
    client = Client()
    with record() as seen:
        client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    written = [sql.split(" ", 1)[0] for sql, _ in seen.sql if '"accounts_session"' in sql[:40]]
    assert [word for word in written if word != "SELECT"] == ["INSERT", "UPDATE"]
    assert who(client) == "alice"


def test_a_page_that_only_reads_writes_nothing(desk: Client) -> None:
    row = Session.objects.values().get()
    who(desk)
    assert Session.objects.values().get() == row


# --- whose it is ---------------------------------------------------------------------------------


def test_the_user_is_a_user_whose_other_fields_are_asked_for_when_wanted(alice: User, rf: Any) -> None:
    from accounts.middleware import get_user
    from accounts.sessions import SessionStore

    User.objects.filter(pk=alice.pk).update(email="alice@example.org", is_staff=True)
    request = rf.get("/")
    request.session = SessionStore(token_in(log_in(alice)))
    with record() as seen:
        user = get_user(request)
        assert isinstance(user, User)
        known = (user.pk, user.username, user.name_key, user.user_type, user.is_active, user.is_staff, str(user))
        assert known == (alice.pk, "alice", "alice", "client", True, True, "alice")
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


def test_asked_asynchronously_it_is_the_same_user(desk: Client) -> None:
    assert desk.get("/awho/").json()["user"] == "alice"
    assert Client().get("/awho/").json()["user"] == ""


@pytest.mark.parametrize(("column", "value"), [("session_secret", "another"), ("password", "another")])
def test_a_secret_that_was_changed_by_raw_sql_ends_every_session(
    column: str, value: str, alice: User, desk: Client
) -> None:
    phone = log_in(alice)
    by_raw_sql(column, value, alice)
    assert (who(desk), who(phone)) == ("", "")
    assert Session.objects.count() == 0  # each of them found out, and was flushed


def test_sql_is_asked_as_strictly(alice: User, desk: Client) -> None:
    by_raw_sql("session_secret", "another", alice)
    with sql_only():
        assert who(desk) == ""


def test_logging_out_everywhere_is_one_write(alice: User, desk: Client) -> None:
    bob = log_in(User.objects.create_user("bob"))
    end_all_sessions(alice)
    assert (who(desk), who(bob)) == ("", "bob")


def test_who_was_deactivated_is_nobody(alice: User, desk: Client) -> None:
    by_raw_sql("is_active", False, alice)
    assert who(desk) == ""


def test_a_user_who_was_deleted_is_nobody(alice: User, desk: Client) -> None:
    alice.delete()
    assert who(desk) == ""


def test_a_back_end_that_is_no_more_lets_nobody_in(desk: Client, settings: Settings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.RemoteUserBackend"]
    assert who(desk) == ""


def test_a_new_secret_key_keeps_those_in_whom_the_old_one_let_in(desk: Client, settings: Settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [site.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    rebuild(["session"])
    before = token_in(desk)
    assert who(desk) == "alice"
    assert token_in(desk) != before
    settings.SECRET_KEY_FALLBACKS = []
    assert who(desk) == "alice"


def test_a_new_secret_key_without_the_old_one_lets_nobody_in(desk: Client, settings: Settings) -> None:
    settings.SECRET_KEY = "x" * 50
    assert who(desk) == ""


# --- the token -----------------------------------------------------------------------------------


def everything(redis: Redis) -> str:
    """All that SQL and Redis hold, as text."""
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
    assert digest_in(desk) in said
    assert token_in(desk) not in said


def test_logging_in_takes_a_new_token_and_what_a_stranger_kept_comes_along(alice: User) -> None:
    client = Client()
    client.get("/keep/?colour=blue")
    before = token_in(client)
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert token_in(client) != before
    assert kept(client) == {"colour": "blue"}
    assert kept(_with_token(before)) == {}
    assert Session.objects.count() == 1


def _with_token(token: str) -> Client:
    client = Client()
    client.cookies["sessionid"] = token
    return client


def test_a_token_that_somebody_planted_is_not_taken_over(alice: User) -> None:
    client = _with_token("planted-by-somebody-else-0123456")
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert who(client) == "alice"
    assert who(_with_token("planted-by-somebody-else-0123456")) == ""


def test_logging_in_again_takes_a_new_token_too(alice: User, desk: Client) -> None:
    before = token_in(desk)
    desk.force_login(alice)
    assert token_in(desk) != before
    assert who(desk) == "alice"
    assert who(_with_token(before)) == ""


def test_logging_out_ends_the_session_and_takes_the_cookie_away(desk: Client) -> None:
    before = token_in(desk)
    desk.get("/keep/?colour=blue")
    response = desk.post("/accounts/logout/")
    assert before not in response.cookies["sessionid"].value
    assert who(_with_token(before)) == ""
    assert kept(desk) == {}
    assert not Session.objects.filter(user__isnull=False).exists()


def test_somebody_elses_login_in_the_same_browser_begins_with_an_empty_session(alice: User, desk: Client) -> None:
    desk.get("/keep/?colour=blue")
    before = token_in(desk)
    desk.force_login(User.objects.create_user("bob"))
    assert (who(desk), kept(desk)) == ("bob", {})
    assert who(_with_token(before)) == ""


def test_a_request_that_saves_what_was_ended_meanwhile_is_refused_and_brings_nothing_back(desk: Client) -> None:
    before = token_in(desk)
    assert desk.get("/ended-meanwhile/").status_code == 400
    assert who(_with_token(before)) == ""
    assert Session.objects.count() == 0


# --- what changes rights, and passwords ----------------------------------------------------------


def test_more_rights_take_a_new_token_and_everything_stays(alice: User, desk: Client) -> None:
    desk.get("/keep/?colour=blue")
    before, row = token_in(desk), Session.objects.get()
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    drain_all()
    assert who(desk) == "alice"
    after = token_in(desk)
    assert after != before
    assert kept(desk) == {"colour": "blue"}
    assert who(_with_token(before)) == ""
    assert token_in(desk) == after  # once
    assert (Session.objects.get().device, Session.objects.get().user) == (row.device, alice)
    assert desk.get(STAFF_PAGE).status_code == 200


@pytest.mark.parametrize("what", ["staff", "group", "permission"])
def test_fewer_rights_take_a_new_token_too(what: str, alice: User) -> None:
    group = Group.objects.create(name="buyers")
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.groups.add(group)
    group.permissions.add(Permission.objects.order_by("pk")[0])
    desk = log_in(alice)
    before = token_in(desk)
    assert who(desk) == "alice"
    assert token_in(desk) == before
    if what == "staff":
        User.objects.filter(pk=alice.pk).update(is_staff=False)
    elif what == "group":
        alice.groups.clear()
    else:
        group.permissions.clear()
    drain_all()
    assert who(desk) == "alice"
    assert token_in(desk) != before


def test_two_requests_that_notice_at_once_rotate_once(alice: User, desk: Client) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    drain_all()
    late = _with_token(token_in(desk))
    from accounts import middleware

    rotate = middleware.rotate_for_rights

    def after_another(session: Any) -> None:
        middleware.rotate_for_rights = rotate
        assert who(desk) == "alice"
        rotate(session)

    middleware.rotate_for_rights = after_another
    response = late.get("/who/")
    assert response.json()["user"] == "alice"  # its request was good when it came
    assert "sessionid" not in response.cookies
    assert Session.objects.count() == 1
    assert who(desk) == "alice"


def test_a_password_that_one_changes_oneself_ends_all_other_sessions(alice: User, desk: Client) -> None:
    phone, bob = log_in(alice), log_in(User.objects.create_user("bob"))
    desk.get("/keep/?colour=blue")
    before = token_in(desk)
    desk.post("/change-password/", {"password": "a noisy bookshop"})
    assert (who(desk), who(phone), who(bob)) == ("alice", "", "bob")
    assert kept(desk) == {"colour": "blue"}
    assert token_in(desk) != before
    assert Session.objects.filter(user=alice).count() == 1


def test_a_password_that_another_changes_ends_every_session(alice: User, desk: Client) -> None:
    alice.set_password("a noisy bookshop")
    alice.save()
    assert Session.objects.count() == 0
    assert who(desk) == ""


def test_a_password_that_is_only_hashed_anew_ends_nothing(alice: User, desk: Client, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)
    assert User.objects.get(pk=alice.pk).password.startswith("pbkdf2")
    assert Session.objects.count() == 1


# --- without Redis, or with another --------------------------------------------------------------


def test_redis_emptied_logs_nobody_out(desk: Client, redis: Redis) -> None:
    redis.flushall()
    assert who(desk) == "alice"
    rebuild(["session"])
    with record() as seen:
        assert who(desk) == "alice"
    assert seen.sql == []


def test_a_record_that_is_lost_logs_nobody_out(desk: Client, redis: Redis) -> None:
    redis.delete(keys.session(digest_in(desk)))
    assert who(desk) == "alice"


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_without_redis_one_logs_in_and_out_as_ever(harm: str, redis_server: RedisServer, alice: User) -> None:
    rebuild(["session"])
    desk = log_in(alice)
    getattr(redis_server, harm)()
    assert who(desk) == "alice"
    phone = log_in(alice)
    assert COOKIE in phone.cookies
    assert who(phone) == "alice"
    desk.post("/accounts/logout/")
    assert (who(desk), who(phone)) == ("", "alice")


def test_what_happened_without_redis_shows_at_the_next_request_when_it_is_back(
    redis_server: RedisServer, alice: User
) -> None:
    """Nothing has been brought to Redis yet: what it says of the one is old, and of the other nothing."""
    rebuild(["session"])
    desk = log_in(alice)
    drain_all()
    redis_server.freeze()
    phone = log_in(alice)
    desk.post("/accounts/logout/")
    redis_server.thaw()
    breaker.reset()
    assert (who(desk), who(phone)) == ("", "alice")
    del phone.cookies[COOKIE]
    assert who(phone) == "alice"


def test_a_session_shows_at_the_next_request_though_there_was_no_time_to_drain(
    alice: User, settings: Settings, redis: Redis
) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    client = log_in(alice)
    assert redis.exists(keys.session(digest_in(client))) == 0
    assert COOKIE in client.cookies
    assert who(client) == "alice"
    client.get("/keep/?colour=blue")
    assert kept(client) == {"colour": "blue"}


def test_the_middleware_that_saves_sessions_is_inside_the_one_that_looks_for_writes() -> None:
    order = site.MIDDLEWARE
    assert order.index("mirror.middleware.ReadYourWrites") < order.index("accounts.middleware.SessionMiddleware")


def test_a_stranger_without_a_cookie_costs_nothing() -> None:
    with record() as seen:
        assert who(Client()) == ""
    assert (seen.round_trips, seen.sql) == (0, [])


def test_a_cold_mirror_is_no_stranger(desk: Client, redis: Redis) -> None:
    redis.delete(naming.marker("session"))
    assert who(desk) == "alice"
