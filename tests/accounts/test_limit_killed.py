"""A run of ``clean`` that is killed after any of its steps is finished by the next run."""

import signal
from pathlib import Path

import pytest
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session, User
from accounts.sessions import last_seen
from accounts.sessions.cleaning import clean_sessions
from mirror.models import Change
from mirror.relay import drains
from tests.accounts.killed_cleaning import STEPS
from tests.support.accounts.digests import make_sessions, read_recent_digests, read_stored_digests, set_last_seen
from tests.support.faults.forked import Forked
from tests.support.servers import PATIENCE_SECONDS

# Steps after which the rows of the removed sessions are still in SQL.
ROWS_LEFT = {"claim", "what hangs on them", "half of the transaction"}


@pytest.mark.parametrize("step", STEPS)
def test_the_next_run_finishes_a_killed_one(
    redis: Redis, environment: dict[str, str], step: str, tmp_path: Path
) -> None:
    user = User.objects.create_user("alice", password="x")
    sessions = make_sessions(2500)
    Session.objects.update(user=user)
    drains.drain_all()
    set_last_seen(redis, sessions)
    last_seen.touch(sessions[0], 1.0)
    going, staying = set(sessions[1:2001]), {sessions[0], *sessions[2001:]}
    command = ["tests.accounts.killed_cleaning", step, str(len(staying))]
    patient = environment | {"DJANGO_SETTINGS_MODULE": "tests.support.patient_settings"}
    killed = Forked(command, patient, log := tmp_path / "log")
    assert killed.wait(PATIENCE_SECONDS) == -signal.SIGKILL, log.read_text()

    assert read_stored_digests() == (going | staying if step in ROWS_LEFT else staying)
    assert LastSeen.objects.count() == 0
    assert not any(last_seen.touch(session, None) for session in sessions[1:2001:100])
    clean_sessions(len(staying))
    assert read_stored_digests() == read_recent_digests(redis) == staying
    assert {field.decode() for field in redis.hkeys(keys.tokens())} == staying
    assert not Change.objects.pending().exists()
