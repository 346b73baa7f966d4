"""``manage.py site backup`` and ``site restore``, on a site that is in use."""

import threading
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from django.db import connection
from pytest_django.fixtures import Settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError
from redis.retry import Retry

from accounts import keys
from accounts.models import Session, User
from accounts.sessions import last_seen
from common import clock
from config.copies import databases, take
from loginlog.services import mark_login
from mirror.backup import copies, registry
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.relay.rebuild import rebuild
from mirror.verify import runs
from shop.book_views.popularity import count_view
from shop.models import Cart, View
from shop.services import carts
from tests.support.accounts.sessions import log_in, read_digest, read_user_name
from tests.support.catalog.make import make_book
from tests.support.deploy.other_site import use_other_site
from tests.support.mirror import command
from tests.support.mirror.app.backups import play
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until
from tests.support.servers.cluster import has_cluster, main_cluster
from tests.support.shop.carts import make_visitor, restore_backups
from tests.support.shop.make import make_product
from tests.support.slots import slot

pytestmark = pytest.mark.django_db(transaction=True)
STATE_OF_MIRRORS: Final = {"mirror_identity", "mirror_state", "mirror_backup", "mirror_change"}


def run(*arguments: str) -> command.Ran:
    return command.run(*arguments, name="site")


def read_tables() -> dict[str, list[Any]]:
    """Return all rows of all tables, without the state of mirrors, which a restore begins anew."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor)) - STATE_OF_MIRRORS
        found = {}
        for name in names:
            cursor.execute(f'SELECT * FROM "{name}"')
            found[name] = sorted(map(repr, cursor.fetchall()))
    return found


def read_backups() -> dict[str, Any]:
    """Return every item of the structures that Redis has first, and the last-seen times."""
    redis = relay_client()
    found: dict[str, Any] = {"recent": redis.zrange(keys.recent(), 0, -1, withscores=True)}
    for backup in registry.all_backups():
        items = sorted({item for part in backup.scan(redis) for item in part})
        found[backup.name] = dict(backup.read(redis, items)) if items else {}
    return found


class Shoppers:
    """A thread in which visitors arrive one after another: a session in SQL, then a cart and a view in Redis."""

    def __init__(self) -> None:
        self.product, self.book = make_product(), make_book("A book")
        self.digests: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self._stopped.is_set():
            digest = make_visitor()
            carts.set_line(digest, self.product.pk, 1 + len(self.digests) % 9)
            assert count_view(digest, self.book.pk)
            self.digests.append(digest)
        connection.close()

    def arrive(self, number: int) -> None:
        """Wait until so many more visitors have arrived."""
        wanted = len(self.digests) + number
        wait_until(lambda: len(self.digests) >= wanted or not self._thread.is_alive(), "more visitors")
        assert self._thread.is_alive()

    def __enter__(self) -> "Shoppers":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()


def list_sockets(server: RedisServer) -> list[tuple[Path, str]]:
    """Return the socket of each server of the state, with a key that belongs there."""
    if not has_cluster():
        return [(server.socket, "a key")]
    cluster = main_cluster()
    slots = [{*cluster.list_slots(number)} for number in range(len(cluster.masters))]
    samples = [next(key for key in map(str, count()) if slot(key) in own) for own in slots]
    return [(master.socket, key) for master, key in zip(cluster.masters, samples, strict=True)]


@pytest.fixture(autouse=True)
def last_backup(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file whose time tells of the last backup. It does not exist yet."""
    settings.LAST_BACKUP_FILE = tmp_path_factory.mktemp("var") / "folder" / "last-backup"
    return settings.LAST_BACKUP_FILE


@pytest.fixture
def site() -> User:
    """Fill a site: a user who has logged in."""
    restore_backups()
    alice = User.objects.create_user("alice", "alice@example.org", "a quiet bookshop")
    mark_login(alice)
    return alice


@pytest.mark.urls("tests.support.accounts.session_urls")
@pytest.mark.slow(4)
def test_backup_under_writes_is_one_moment_and_restores_everything(
    site: User, server: RedisServer, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild()
    ended, kept = log_in(site), log_in(site)
    Session.objects.filter(pk=read_digest(ended)).delete()
    last_seen.touch(read_digest(kept), clock.now().timestamp() + 60)
    vendor = type(databases.get_database("default"))
    open_snapshot = vendor.open_snapshot

    def open_during_pause(database: Any) -> databases.Snapshot:
        once = Retry(NoBackoff(), 0)
        for socket, key in list_sockets(server):
            with Redis(unix_socket_path=str(socket), socket_timeout=PATIENCE_SECONDS, retry=once) as reader:
                reader.get(key)
            writer = Redis(unix_socket_path=str(socket), socket_timeout=0.05, retry=once)
            with writer, pytest.raises(TimeoutError):  # the server may execute the write after the pause
                writer.set(key, 1)
        return open_snapshot(database)

    monkeypatch.setattr(vendor, "open_snapshot", open_during_pause)
    settings.MIRROR = {**settings.MIRROR, "BACKUP_PAUSE_SECONDS": PATIENCE_SECONDS}
    with Shoppers() as shoppers:
        shoppers.arrive(20)
        before = shoppers.digests[-1]
        assert run("backup", str(tmp_path / "under writes"))[::2] == (0, "")
        shoppers.arrive(5)
    drain_all()
    assert run("backup", str(tmp_path / "at rest"))[::2] == (0, "")
    tables, structures = read_tables(), read_backups()

    with use_other_site(tmp_path):
        assert run("restore", str(tmp_path / "under writes")).code == 0
        there = [digest for digest in shoppers.digests if Session.objects.filter(pk=digest).exists()]
        assert there == shoppers.digests[: len(there)]
        assert before in there
        assert set(there[:-1]) <= set(Cart.objects.values_list("pk", flat=True)) <= set(there)
        viewers = set(View.objects.values_list("visitor", flat=True))  # views of the last moment may be missing
        assert set(there[: there.index(before)]) <= viewers <= set(there)

        refused = run("restore", str(tmp_path / "at rest"))
        assert refused.code == 2
        assert "the site is not empty" in refused.err
        assert run("restore", str(tmp_path / "at rest"), "--replace").code == 0
        assert read_tables() == tables
        assert read_backups() == structures
        assert list(runs.verify([])) == []
        assert read_user_name(kept) == "alice"
        assert read_user_name(ended) == ""


def test_snapshot_taken_after_the_pause_is_discarded(
    site: User, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, postgres: bool
) -> None:
    settings.MIRROR = {**settings.MIRROR, "BACKUP_PAUSE_SECONDS": 0.001}
    monkeypatch.setattr(copies, "TRIES", 2)
    ran = run("backup", str(tmp_path / "copy"))
    assert (ran.code, (tmp_path / "copy").exists()) == (2, False)
    assert "SQL was too slow 2 times" in ran.err
    assert '(0.001 s): try again, or raise MIRROR["BACKUP_PAUSE_SECONDS"]' in ran.err
    if postgres:  # the server learns of closed connections a moment later
        wait_until(lambda: count_idle_transactions() == 0, "the end of the transactions of the discarded snapshots")


def count_idle_transactions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )
        [found] = cursor.fetchone()
    return int(found)


def test_refused_items_are_reported(site: User, tmp_path: Path, redis: Redis) -> None:
    play(redis, "alice", 666)
    ran = run("backup", str(tmp_path / "copy"), "--json")
    assert (ran.code, ran.said["not_in_sql"]) == (1, {"tbest": 1})
    assert "1 items of tbest are missing" in ran.err


@pytest.fixture
def copy(site: User, tmp_path: Path, last_backup: Path) -> Path:
    """Return the folder of a backup."""
    assert run("backup", str(tmp_path / "copy")).code == 0
    assert last_backup.exists()
    return tmp_path / "copy"


def change_manifest(copy: Path, **values: Any) -> None:
    path = copy / "manifest.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | values))


def test_wrong_folders_are_named(copy: Path, tmp_path: Path) -> None:
    """No error touches the site."""
    before = read_tables()
    file = next(path for path in copy.iterdir() if path.name != "manifest.json")

    def refuse(action: str, folder: Path, text: str) -> None:
        ran = run(action, str(folder), *(["--replace"] if action == "restore" else []))
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert text in ran.err

    refuse("backup", copy, f"{copy} is not an empty folder")
    refuse("backup", file, f"{file} is not an empty folder")
    refuse("restore", tmp_path / "none", f"{tmp_path / 'none'} is no complete backup")
    change_manifest(copy, format=2)
    refuse("restore", copy, "has format 2")
    change_manifest(copy, format=1, migrations=["accounts.9999_future"])
    refuse("restore", copy, "lacks the migration accounts.9999_future")
    change_manifest(copy, vendor="oracle")
    refuse("restore", copy, "is a backup of oracle")
    relay_client().set(naming.heartbeat(), 1)
    change_manifest(copy, vendor=connection.vendor, migrations=[])
    refuse("restore", copy, "a relay ran within the last")
    file.write_bytes(file.read_bytes()[:-1])
    refuse("restore", copy, f"{file} is missing or damaged")
    (copy / "manifest.json").write_text("{")
    refuse("restore", copy, "is not the manifest of a backup")
    assert read_tables() == before


def test_full_disk_is_named_and_leaves_no_partial_backup(
    site: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_backup: Path
) -> None:
    """Every write to /dev/full fails as on a full disk."""
    monkeypatch.setattr(type(databases.get_database("default")), "file_name", "full")
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "full").symlink_to("/dev/full")
    monkeypatch.setattr(take, "_prepare_folder", lambda folder: False)
    ran = run("backup", str(folder))
    assert ran.code == 2
    assert str(folder / "full") in ran.err or "No space left" in ran.err
    assert list(folder.iterdir()) == []
    assert not last_backup.exists()


@pytest.mark.on_postgres
def test_missing_program_is_named(site: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *given, **more: None)
    ran = run("backup", str(tmp_path / "copy"))
    assert ran.code == 2
    assert "pg_dump is not installed: install the client programs of PostgreSQL" in ran.err


def test_redis_without_the_right_to_pause_is_named(site: User, tmp_path: Path, redis: Redis) -> None:
    redis.execute_command("ACL", "SETUSER", "default", "-client")
    try:
        ran = run("backup", str(tmp_path / "copy"))
    finally:
        redis.execute_command("ACL", "SETUSER", "default", "+@all")
    assert ran.code == 2
    assert "CLIENT PAUSE" in ran.err
