"""SQLite's disk is full: pages are still answered, and writes fail until there is space."""

import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.error import HTTPError

import pytest
from django.db import connection

from catalog.models import Book
from tests.projects.mirrortest.models import Item
from tests.support.catalog.make import make_book
from tests.support.faults.crew import Crew
from tests.support.faults.web import Web
from tests.support.mirror import world
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.only_on("sqlite"), pytest.mark.real]
MAX_FILE: Final = 4096  # bytes: less than any write of SQLite, and enough for the report of costs
FORM: Final = {"username": "newcomer", "password1": "a quiet bookshop", "password2": "a quiet bookshop"}


@pytest.fixture
def book(still: list[Item]) -> Book:
    made = make_book("The Book of Sand", tags="fantasy")
    world.rest()
    return made


@contextmanager
def full_disk(group: int) -> Iterator[None]:
    """Let the processes of a group write to no file beyond a few bytes, as on a full disk."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and is_in(entry, group)]
    assert pids
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in pids}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (MAX_FILE, hard))
    yield
    for pid, limits in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def is_in(entry: Path, group: int) -> bool:
    try:
        return os.getpgid(int(entry.name)) == group
    except ProcessLookupError:
        return False


def register(web: Web) -> str:
    web.new_visitor()
    token = web.fetch("/accounts/register/").partition('name="csrfmiddlewaretoken" value="')[2][:64]
    return web.fetch("/accounts/register/", {**FORM, "csrfmiddlewaretoken": token})


def test_sqlite_answers_reads_while_its_disk_is_full(
    book: Book, crew: Crew, redis_server: RedisServer, tmp_path: Path
) -> None:
    # A copy, because this process keeps the files of its own database open.
    with closing(sqlite3.connect(tmp_path / "copy.sqlite3")) as copy:
        connection.connection.backup(copy)
    crew.environment["DATABASE_URL"] = f"sqlite:///{tmp_path}/copy.sqlite3"
    redis_server.kill()  # so that SQLite answers
    web = Web(crew)
    with full_disk(crew.children["web"].pid):
        for path in ("/", "/books/", f"/books/{book.pk}/", "/books/?q=fantasy", "/global/"):
            assert "<html" in web.fetch(path)
        assert book.title in web.fetch("/books/")
        with pytest.raises(HTTPError) as refusal:
            register(web)
        refusal.value.close()
        assert refusal.value.code == 500
    assert "newcomer" in register(web)
