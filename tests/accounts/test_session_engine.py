"""The session engine alone: it behaves like Django's and stores only digests of tokens."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

import pytest
from django.contrib.sessions.backends.base import CreateError, UpdateError
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session, User
from accounts.second_factor.recent import PROOF_TIME_KEY, record_proof
from accounts.sessions import engine, last_seen
from accounts.sessions.engine import SessionEnded, SessionStore
from accounts.sessions.rows import hash_token
from accounts.sessions.services import end_other_sessions
from accounts.sessions.signals import sessions_ending, token_rotated
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.asynchronous import run_asynchronously
from tests.support.faults.tools import at_once
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
Told = list[tuple[object, ...]]


@pytest.fixture(autouse=True)
def warm_sessions() -> None:
    rebuild(["session"])


def stored(**data: object) -> SessionStore:
    """Return a saved session with this data."""
    session = SessionStore()
    session.update(data)
    session.save()
    return session


def again(session: SessionStore) -> SessionStore:
    """Return the session as the next request reads it."""
    return SessionStore(session.session_key)


def test_saves_do_not_move_the_end_beyond_the_last_proof(settings: Settings) -> None:
    settings.REAUTHENTICATION_SECONDS = 3600
    session = stored()
    proof_time = timezone.now() - timedelta(minutes=30)
    record_proof(session)
    session[PROOF_TIME_KEY] = int(proof_time.timestamp())
    session.save()
    expiry = Session.objects.get().expire_date
    assert expiry == proof_time.replace(microsecond=0) + timedelta(hours=1)
    session["visits"] = 1
    session.save()
    assert Session.objects.get().expire_date == expiry
    record_proof(session)
    session.save()
    assert Session.objects.get().expire_date > expiry
    settings.REAUTHENTICATION_SECONDS = 60
    session[PROOF_TIME_KEY] = int(proof_time.timestamp())
    session.save()
    drain_all()
    assert again(session).load() == {}


@pytest.fixture
def told() -> Iterator[Told]:
    """Yield a list of the received signals."""
    heard: Told = []

    def rotated(old: str, new: str, user_id: int | None, **kwargs: object) -> None:
        heard.append(("rotated", old, new, user_id))

    def ending(digests: list[str], **kwargs: object) -> None:
        heard.append(("ending", *digests))

    token_rotated.connect(rotated)
    sessions_ending.connect(ending)
    yield heard
    token_rotated.disconnect(rotated)
    sessions_ending.disconnect(ending)


def test_a_session_is_read_in_one_round_trip() -> None:
    session = stored(colour="blue")
    with record() as seen:
        assert again(session)["colour"] == "blue"
    assert (seen.round_trips, seen.sql) == (1, [])


def test_a_session_can_be_read_from_sql() -> None:
    session = stored(colour="blue")
    with sql_only():
        assert again(session)["colour"] == "blue"


def test_only_the_digest_is_stored() -> None:
    session = stored(colour="blue")
    assert Session.objects.get().pk == hash_token(session.session_key or "") == session.digest
    assert len(session.session_key or "") == 32


def test_tokens_are_random() -> None:
    assert len({SessionStore()._get_new_session_key() for _ in range(100)}) == 100


@pytest.mark.parametrize("token", ["x" * 32, "short", "", "\0" * 20, "☂" * 20, "\udcff" * 10, "a" * 10_000])
def test_an_invalid_token_gives_an_empty_session(token: str) -> None:
    session = SessionStore(token)
    assert session.get("colour") is None
    assert session.session_key is None
    assert session.is_empty()
    assert Session.objects.count() == 0


def test_the_digest_is_not_accepted_as_a_token() -> None:
    digest = stored(colour="blue").digest
    assert SessionStore(digest).get("colour") is None


def test_an_expired_session_is_empty_from_redis_and_from_sql() -> None:
    session = stored(colour="blue")
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    rebuild(["session"])
    assert "colour" not in again(session)
    with sql_only():
        assert "colour" not in again(session)


def test_a_session_missing_in_redis_is_read_from_sql(redis: Redis) -> None:
    session = stored(colour="blue")
    redis.delete(keys.session(session.digest or ""))
    assert again(session)["colour"] == "blue"


@pytest.mark.parametrize("value", [60, timedelta(seconds=60), None, 0])
def test_expiry_can_be_chosen(value: timedelta | int | None) -> None:
    session = stored(colour="blue")
    session.set_expiry(value)
    session.save()
    left = (Session.objects.get().expire_date - timezone.now()).total_seconds()
    assert (left <= 60) == (value not in (None, 0))
    assert again(session).get_expire_at_browser_close() == (value == 0)


def test_clearing_ends_only_expired_sessions(told: Told, redis: Redis) -> None:
    old, new = stored(a=1), stored(b=1)
    Session.objects.filter(pk=old.digest).update(expire_date=timezone.now() - timedelta(days=1))
    SessionStore.clear_expired()
    assert list(Session.objects.values_list("pk", flat=True)) == [new.digest]
    assert told == [("ending", old.digest)]
    assert redis.zrange(keys.recent(), 0, -1) == [(new.digest or "").encode()]


def test_flush_removes_everything(told: Told, redis: Redis) -> None:
    session = stored(colour="blue")
    before = session.digest
    session.flush()
    assert session.is_empty()
    assert session.session_key is None
    assert Session.objects.count() == 0
    assert redis.exists(keys.session(before or ""), keys.recent()) == 0
    assert told == [("ending", before)]


def test_cycle_key_keeps_the_data_under_a_new_token(told: Told, redis: Redis) -> None:
    session = again(stored(colour="blue"))
    before, token = session.digest, session.session_key
    session.cycle_key()
    assert session.session_key != token
    assert again(session)["colour"] == "blue"
    assert SessionStore(token).get("colour") is None
    assert told == [("rotated", before, session.digest, None)]
    assert redis.zrange(keys.recent(), 0, -1) == [(session.digest or "").encode()]


def test_start_time_and_device_survive_a_new_token() -> None:
    alice = User.objects.create_user("alice")
    session = SessionStore()
    session.user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    session["_auth_user_id"] = str(alice.pk)
    session.save()
    before = Session.objects.get()
    session = again(session)
    session.cycle_key()
    after = Session.objects.get()
    assert (before.device, after.device) == ("Firefox on Linux", "Firefox on Linux")
    assert abs(after.created_at - before.created_at) < timedelta(milliseconds=1)
    assert after.user == alice


def test_saving_again_keeps_start_time_and_device(redis: Redis) -> None:
    session = stored(colour="blue")
    Session.objects.update(device="Opera on Linux", created_at="2001-01-01T00:00:00Z")
    session["colour"] = "red"
    session.save()
    row = Session.objects.get()
    assert (row.device, row.created_at.year) == ("Opera on Linux", 2001)
    assert again(session)["colour"] == "red"


def test_committed_data_is_not_written_again() -> None:
    session = stored(colour="blue")
    with record() as seen:
        session.save()
    assert seen.sql == []
    session["colour"] = "red"
    with record() as seen:
        session.save()
    assert any("UPDATE" in sql for sql, _ in seen.sql)


@pytest.mark.parametrize("change", [SessionStore.save, SessionStore.cycle_key, SessionStore.flush, SessionStore.delete])
def test_rolled_back_changes_leave_no_trace(change: Callable[[SessionStore], object], redis: Redis) -> None:
    session = again(stored(colour="blue"))
    first, row = session.digest, Session.objects.values().get()
    seen = redis.zrange(keys.recent(), 0, -1, withscores=True)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        session["colour"] = "red"
        change(session)
        raise ZeroDivisionError
    assert Session.objects.values().get() == row
    assert SessionStore(None).get("colour") is None
    assert redis.keys(keys.session("*")) == [keys.session(first or "").encode()]
    assert redis.zrange(keys.recent(), 0, -1, withscores=True) == seen


def test_a_rolled_back_new_session_leaves_no_trace(redis: Redis) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        stored(colour="blue")
        raise ZeroDivisionError
    assert Session.objects.count() == 0
    assert redis.exists(keys.recent()) == 0
    assert redis.keys(keys.session("*")) == []


def test_saving_an_ended_session_fails(redis: Redis) -> None:
    session = again(stored(colour="blue"))
    session["colour"] = "red"
    Session.objects.all().delete()
    with pytest.raises(UpdateError):
        session.save()
    assert Session.objects.count() == 0
    drain_all()
    assert redis.keys(keys.session("*")) == []


def test_an_ended_session_gets_no_new_token(told: Told) -> None:
    session = again(stored(_auth_user_id=str(User.objects.create_user("alice").pk)))
    token = session.session_key
    assert session["_auth_user_id"]
    Session.objects.all().delete()
    with pytest.raises(SessionEnded):
        session.cycle_key()
    assert session.session_key == token
    assert Session.objects.count() == 0
    assert told == []


def test_a_taken_token_is_never_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    session = stored(colour="blue")
    given = iter([session.session_key, "another-token-altogether"])
    monkeypatch.setattr(SessionStore, "_get_new_session_key", lambda self: next(given))
    assert stored(colour="red").session_key == "another-token-altogether"
    assert again(session)["colour"] == "blue"


def test_a_new_token_can_be_inserted_by_the_save_that_follows(told: Told, redis: Redis) -> None:
    session = again(stored(colour="blue"))
    before = session.digest
    with session.inserted_by_save(), record() as seen, transaction.atomic():
        session.cycle_key()
        session["colour"] = "red"
        session.save()
    written = [sql.split(" ", 1)[0] for sql, _ in seen.sql if '"accounts_session"' in sql[:40]]
    assert [word for word in written if word != "SELECT"] == ["DELETE", "INSERT"]
    assert told == [("rotated", before, session.digest, None)]
    assert again(session)["colour"] == "red"
    assert redis.zrange(keys.recent(), 0, -1) == [(session.digest or "").encode()]
    session["colour"] = "green"
    session.save()
    assert again(session)["colour"] == "green"


def test_a_save_without_a_token_inserts_the_session() -> None:
    session = stored(colour="blue")
    with session.inserted_by_save(), transaction.atomic():
        session.flush()
        session["colour"] = "red"
        session.save()
    assert again(session)["colour"] == "red"
    assert Session.objects.count() == 1


def test_a_taken_token_that_save_inserts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = stored(colour="blue")
    monkeypatch.setattr(SessionStore, "_get_new_session_key", lambda self: taken.session_key)
    session = SessionStore()
    with session.inserted_by_save(), pytest.raises(CreateError), transaction.atomic():
        session.create()
        session["colour"] = "red"
        session.save()
    assert again(taken)["colour"] == "blue"


def test_a_session_that_cannot_be_created_raises_an_error() -> None:
    """For example after the deletion of its user: the database refuses every new token."""
    session = SessionStore()
    session["_auth_user_id"] = "987654321"
    with pytest.raises(CreateError):
        session.create()


def test_a_session_that_is_being_removed_is_empty(redis: Redis) -> None:
    session = stored(colour="blue")
    redis.zadd(keys.recent(), {session.digest or "": 0})
    assert again(session).get("colour") is None
    with sql_only():
        assert again(session).get("colour") is None


def test_the_use_of_a_session_is_recorded_once_a_minute(redis: Redis) -> None:
    session = stored(colour="blue")
    digest = session.digest or ""
    with record() as seen:
        again(session).get("colour")
    assert seen.round_trips == 1
    redis.zadd(keys.recent(), {digest: 1})
    again(session).get("colour")
    assert last_seen.read_last_seen([digest])[digest] > 1


def test_forged_data_gives_an_empty_session() -> None:
    session = stored(colour="blue")
    Session.objects.all().update(session_data="nonsense")
    rebuild(["session"])
    assert again(session).get("colour") is None


def test_the_user_of_a_session_is_stored_in_a_column() -> None:
    alice = User.objects.create_user("alice")
    session = stored()
    assert Session.objects.get().user is None
    session["_auth_user_id"] = str(alice.pk)
    session.save()
    assert Session.objects.get().user == alice


@pytest.mark.parametrize("user", ["x", "", None, "-1", "１"])
def test_an_invalid_user_id_gives_an_anonymous_session(user: object) -> None:
    stored(_auth_user_id=user)
    assert Session.objects.get().user is None


def test_a_session_with_a_flushed_time_can_end() -> None:
    session = stored(colour="blue")
    LastSeen.objects.create(session_id=session.digest or "", seen_at=timezone.now())
    session.flush()
    assert (Session.objects.count(), LastSeen.objects.count()) == (0, 0)


def test_asynchronous_methods_work() -> None:
    async def story() -> None:
        session = SessionStore()
        await session.aset("colour", "blue")
        await session.asave()
        digest = session.digest
        assert await session.aexists(session.session_key or "")
        await session.acycle_key()
        assert session.digest != digest
        session = SessionStore(session.session_key)
        assert await session.aget("colour") == "blue"
        await session.aflush()
        assert session.session_key is None

    run_asynchronously(story)
    assert Session.objects.count() == 0


def test_the_model_names_this_engine() -> None:
    assert Session.get_session_store_class() is engine.SessionStore


@pytest.mark.parametrize("change", [SessionStore.save, SessionStore.cycle_key])
def test_an_ended_session_stays_ended_despite_concurrent_writes(
    change: Callable[[SessionStore], object], redis: Redis
) -> None:
    alice = User.objects.create_user("alice")
    for _ in range(10):
        one = stored(_auth_user_id=str(alice.pk))
        two, gate = again(one), threading.Barrier(2)
        two["colour"] = "red"

        def end(session: SessionStore = one, gate: threading.Barrier = gate) -> None:
            gate.wait()
            end_other_sessions(alice, None)

        def go_on(session: SessionStore = two, gate: threading.Barrier = gate) -> None:
            gate.wait()
            with suppress(SessionEnded):
                change(session)

        with at_once(end, go_on):
            pass
        assert not Session.objects.exists()
    drain_all()
    assert redis.keys(keys.session("*")) == []
