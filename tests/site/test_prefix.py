"""With a prefix, the site reads and writes only keys with this prefix on the state server."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from mirror.redis.keys import prefix
from mirror.redis.keys.positions import key_positions
from mirror.relay.drains import drain_all
from mirror.verify import runs
from social.models import Post
from tests.support.mirror.command import run
from tests.support.servers import RedisServer
from tests.support.warm_mirrors import SITE, rebuild
from tests.support.world import World

pytestmark = pytest.mark.django_db(transaction=True)
END: Final = b"the end of the scenario"
USED: Final = (
    "book:", "books:", "cart:{", "delay:", "global:timeline", "inv:", "limit:", "login:", "loginDay_", "loginLog_",
    "mirror:", "post:", "product:", "rec:", "recent:", "sale:", "schedule:", "session:", "sessions:",
    "tag:", "tries:", "uid:{", "viewed:", "{hashtag}:", "{tag}:",
)  # fmt: skip
COMMANDS: Final = """
    rowcache schedule 1 5
    rowcache run --once
    loginlog sync
    views rescale
    recommend rebuild
    timelines rebuild --user alice
    sessions clean
    mirror rebuild
    mirror verify
"""
_WORD: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def use_everything(folder: Path) -> None:
    """Log in, read, post, follow, shop, and run the scheduled commands."""
    rebuild()
    world = World()
    User.objects.filter(pk=world.staff.pk).update(password="")
    world.staff.set_password("correct horse")
    world.staff.save()
    drain_all()
    stranger, staff = Client(), Client()
    for address in ("/", "/books/", "/books/?q=ruby", "/books/1/", "/global/", "/shop/sale/", "/accounts/leaderboard/"):
        assert stranger.get(address).status_code == 200, address
    stranger.post("/shop/cart/", {"product": "1", "quantity": "2"})
    assert staff.post("/accounts/login/", {"username": "alice", "password": "wrong"}).status_code == 200
    assert staff.post("/accounts/login/", {"username": "alice", "password": "correct horse"}).status_code == 302
    for address in ("/home/", "/shop/cart/", "/shop/orders/", "/accounts/sessions/", "/loginlog/", "/loginlog/report/"):
        assert staff.get(address).status_code == 200, address
    assert staff.post("/posts/", {"text": "For @reader0: #ruby", "book": "1"}).status_code == 302
    assert staff.post("/u/reader55/follow/").status_code == 302
    assert staff.post("/u/reader1/block/").status_code == 302
    staff.post("/shop/cart/", {"product": "1", "quantity": "3"})
    assert staff.get("/shop/checkout/").status_code == 200
    Post.objects.filter(user=world.readers[0]).first().delete()
    for line in COMMANDS.strip().splitlines():
        name, *arguments = line.split()
        assert run(*arguments, *(SITE if name == "mirror" else ()), name=name).code == 0, line
    assert runs.verify(SITE) == []


def commands(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield the commands on the state database that MONITOR reports, including commands of scripts."""
    for line in lines:
        where, _, rest = line.partition(b"] ")
        words = _WORD.findall(rest)
        if words[-1] == END:
            return
        if where.split(b"[")[1].startswith(b"0 "):
            yield words


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_all_keys_of_all_commands_have_the_prefix(settings: Settings, server: RedisServer, tmp_path: Path) -> None:
    settings.MIRROR, settings.LOGINLOG_FOLDER = settings.MIRROR | {"PREFIX": "shop1:"}, tmp_path
    start = prefix.current().encode()
    assert start.startswith(b"shop1:")
    with server.plain_client() as plain, server.plain_client() as watcher:
        connection = watcher.connection_pool.get_connection()
        connection.send_command("MONITOR")
        connection.read_response()
        use_everything(tmp_path)
        plain.echo(END)
        named = set[bytes]()
        for words in commands(iter(connection.read_response, None)):
            keys = {words[position] for position in key_positions(words)}
            assert all(key.startswith(start) for key in keys), words
            named |= keys
        left = set(plain.scan_iter(count=1000))
    assert {key for key in left if not key.startswith(start)} == set()
    assert {head for head in USED if any(key.startswith(start + head.encode()) for key in named)} == set(USED)
