"""The recorder tells what a block asked of Redis and of SQL, and nothing of what others did."""

import threading

import pytest
from django.db import connection

from mirror.recorder import active, record
from mirror.redis import client
from mirror.session import Session
from tests.support.mirror.app.models import Odd

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]


def test_each_command_is_told_with_its_round_trip() -> None:
    with record() as seen:
        client().set("a", "1")
        client().pipeline(transaction=False).get("a").get("b").execute()
        with Session(client()) as session:
            session.ask([("GET", "a"), ("STRLEN", "a")])
    assert [(command.name, command.args[0], command.trip) for command in seen.commands] == [
        ("SET", "a", 1),
        ("GET", "a", 2),
        ("GET", "b", 2),
        ("GET", "a", 3),
        ("STRLEN", "a", 3),
    ]
    assert seen.round_trips == 3
    assert seen.keys() == ["a", "b"]
    assert str(seen.commands[0]) == "SET a 1"


def test_every_key_of_a_command_is_told_and_nothing_that_is_none() -> None:
    with record() as seen:
        client().mset({"a": "1", "b": "2"})
        client().mget("b", "c")
        client().delete("d", "a")
        client().ping()
        client().info("server")
        client().hset("h", "field", "value")
    assert seen.keys() == ["a", "b", "c", "d", "h"]


def test_a_transaction_is_told_with_what_surrounds_it() -> None:
    with record() as seen:
        client().pipeline().set("a", "1").execute()
    assert [command.name for command in seen.commands] == ["MULTI", "SET", "EXEC"]
    assert seen.round_trips == 1


def test_each_statement_is_told_with_its_time() -> None:
    with record() as seen:
        Odd.objects.count()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    assert [sql.split()[0] for sql, _ in seen.sql] == ["SELECT", "SELECT"]
    assert all(seconds >= 0 for _, seconds in seen.sql)


def test_a_statement_that_fails_is_told_too() -> None:
    with record() as seen, pytest.raises(Exception, match="nonsense"), connection.cursor() as cursor:
        cursor.execute("SELECT nonsense")
    assert seen.sql[0][0] == "SELECT nonsense"


def test_recordings_nest() -> None:
    with record() as outer:
        client().get("a")
        with record() as inner:
            client().get("b")
        client().get("c")
    assert (outer.keys(), inner.keys()) == (["a", "b", "c"], ["b"])


def test_another_thread_is_not_recorded() -> None:
    def elsewhere() -> None:
        client().get("theirs")

    with record() as seen:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        client().get("ours")
    assert seen.keys() == ["ours"]


def test_after_the_block_nothing_is_recorded_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), record() as seen:
        raise ZeroDivisionError
    assert not active()
    client().get("a")
    Odd.objects.count()
    assert (seen.commands, seen.sql, seen.round_trips) == ([], [], 0)


def test_keys_and_commands_that_are_no_text_are_told_as_well_as_can_be() -> None:
    with record() as seen:
        client().set(b"\xff", b"\xfe")
    assert seen.keys() == ["�"]
    assert str(seen.commands[0]) == "SET � �"
