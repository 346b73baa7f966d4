"""A short storm: the whole site loses no fact and breaks no promise while its servers fail."""

import subprocess
import sys

import pytest

from tests.storm.stack import ROOT

pytestmark = [pytest.mark.real, pytest.mark.slow(80), pytest.mark.also_on("cluster")]
MINUTES = "0.3"  # three faults, or pairs of them


def assert_survives(seed: int, *, postgres: bool, redis: str) -> None:
    """Run a storm with this script of faults, and show its report if it found a violation."""
    options = ["--small", "--minutes", MINUTES, "--seed", str(seed), "--redis", redis]
    done = subprocess.run(
        [sys.executable, "-m", "tests.storm", *options, "--on", "postgres" if postgres else "sqlite"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.only_on("postgres")
@pytest.mark.only_on("single")  # another storm runs on a cluster
def test_short_storm_breaks_no_promise() -> None:
    """PostgreSQL cuts all connections, Redis is killed, and Redis is emptied."""
    assert_survives(219, postgres=True, redis="single")


@pytest.mark.only_on("cluster")
def test_short_storm_on_a_cluster_breaks_no_promise(postgres: bool) -> None:
    """A master is emptied; a master and the broker are killed; slots move while SQLite is locked."""
    assert_survives(2588, postgres=postgres, redis="cluster")
