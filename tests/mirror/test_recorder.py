"""The recorder lists the commands and statements of a block, and none of other threads."""

import threading

import pytest
from django.db import connection

from mirror.redis.clients import client
from mirror.redis.recorder import active, record
from mirror.redis.session import Session
from tests.projects.mirrortest.models import Odd

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("cluster")]


def test_each_command_is_recorded_with_its_round_trip() -> None:
    client().ping()  # a new client of a cluster asks for its slots first
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


@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_all_keys_of_commands_are_recorded_and_nothing_else() -> None:
    with record() as seen:
        client().mset({"a": "1", "b": "2"})
        client().mget("b", "c")
        client().delete("d", "a")
        client().ping()
        client().info("server")
        client().hset("h", "field", "value")
    assert seen.keys() == ["a", "b", "c", "d", "h"]


def test_transaction_is_recorded_with_multi_and_exec() -> None:
    with record() as seen:
        client().pipeline().set("a", "1").execute()
    assert [command.name for command in seen.commands] == ["MULTI", "SET", "EXEC"]
    assert seen.round_trips == 1


def test_each_statement_is_recorded_with_its_duration() -> None:
    with record() as seen:
        Odd.objects.count()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    assert [sql.split()[0] for sql, _ in seen.sql] == ["SELECT", "SELECT"]
    assert all(seconds >= 0 for _, seconds in seen.sql)


def test_failing_statement_is_recorded() -> None:
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


def test_other_threads_are_not_recorded() -> None:
    def elsewhere() -> None:
        client().get("theirs")

    with record() as seen:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        client().get("ours")
    assert seen.keys() == ["ours"]


def test_recording_ends_with_the_block_even_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), record() as seen:
        raise ZeroDivisionError
    assert not active()
    client().get("a")
    Odd.objects.count()
    assert (seen.commands, seen.sql, seen.round_trips) == ([], [], 0)


def test_binary_keys_and_values_are_decoded_with_replacements() -> None:
    with record() as seen:
        client().set(b"\xff", b"\xfe")
    assert seen.keys() == ["�"]
    assert str(seen.commands[0]) == "SET � �"


@pytest.mark.only_on("single")  # a cluster refuses the commands
def test_commands_that_name_several_slots_are_found() -> None:
    with record() as seen, Session(client()) as session:
        session.ask([("MGET", "a", "b"), ("SINTER", "{a}:1", "{a}:2"), ("SINTER", "a", "b")])
        session.execute([("SET", "c", "1"), ("SET", "d", "1")])
        session.ask([("SET", "c", "1"), ("SET", "d", "1")])
    assert seen.find_cross_slot() == ["SINTER a b", "SET d 1"]
