"""``manage.py site backup`` and ``site restore``, on a site that is in use."""

import threading
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from accounts import keys
from accounts.models import Session, User
from accounts.sessions import last_seen
from common import clock
from config.copies import databases, take
from loginlog.services import mark_login
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.tasks import consume_visits
from mirror.upkeep.rebuild import rebuild
from mirror.verify import runs
from shop.book_views.popularity import count_view
from shop.models import Cart, View
from shop.services import carts
from tests.support.accounts.sessions import log_in, read_digest, read_user_name
from tests.support.catalog.make import make_book
from tests.support.deploy.other_site import use_other_site
from tests.support.mirror import command
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.carts import make_visitor
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
STATE_OF_MIRRORS: Final = {"mirror_identity", "mirror_state", "mirror_change"}


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


def read_structures() -> dict[str, Any]:
    """Return the structures of visits, and the bitmaps of logins and the carts."""
    redis = relay_client()
    found: dict[str, Any] = {"recent": redis.zrange(keys.recent(), 0, -1, withscores=True)}
    for name in redis.scan_iter(count=1000):
        if b"loginDay_" in name or b"loginLog_" in name:
            found[name.decode()] = redis.get(name)
        elif name.startswith(b"cart:"):
            found[name.decode()] = redis.hgetall(name)
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


@pytest.fixture(autouse=True)
def last_backup(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file whose time tells of the last backup. It does not exist yet."""
    settings.LAST_BACKUP_FILE = tmp_path_factory.mktemp("var") / "folder" / "last-backup"
    return settings.LAST_BACKUP_FILE


@pytest.fixture
def site() -> User:
    """Fill a site: a user who has logged in."""
    alice = User.objects.create_user("alice", "alice@example.org", "a quiet bookshop")
    mark_login(alice)
    return alice


@pytest.mark.urls("tests.support.accounts.session_urls")
@pytest.mark.slow(4)
def test_backup_under_writes_is_one_moment_and_restores_everything(site: User, tmp_path: Path) -> None:
    rebuild()
    ended, kept = log_in(site), log_in(site)
    Session.objects.filter(pk=read_digest(ended)).delete()
    last_seen.touch(read_digest(kept), clock.now().timestamp() + 60)
    with Shoppers() as shoppers:
        shoppers.arrive(20)
        before = shoppers.digests[-1]
        assert run("backup", str(tmp_path / "under writes"))[::2] == (0, "")
        shoppers.arrive(5)
    drain_all()
    assert consume_visits()
    assert run("backup", str(tmp_path / "at rest"))[::2] == (0, "")
    tables, structures = read_tables(), read_structures()

    with use_other_site(tmp_path):
        assert run("restore", str(tmp_path / "under writes")).code == 0
        there = [digest for digest in shoppers.digests if Session.objects.filter(pk=digest).exists()]
        assert there == shoppers.digests[: len(there)]
        assert before in there
        assert set(there[:-1]) <= set(Cart.objects.values_list("pk", flat=True)) <= set(there)
        assert not View.objects.exists()  # all of them waited in Redis

        refused = run("restore", str(tmp_path / "at rest"))
        assert refused.code == 2
        assert "the site is not empty" in refused.err
        assert run("restore", str(tmp_path / "at rest"), "--replace").code == 0
        assert read_tables() == tables
        assert read_structures() == structures
        assert list(runs.verify([])) == []
        assert read_user_name(kept) == "alice"
        assert read_user_name(ended) == ""


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


@pytest.mark.only_on("postgres")
def test_missing_program_is_named(site: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *given, **more: None)
    ran = run("backup", str(tmp_path / "copy"))
    assert ran.code == 2
    assert "pg_dump is not installed: install the client programs of PostgreSQL" in ran.err


def test_a_backup_needs_no_redis(site: User, tmp_path: Path, redis_server: RedisServer) -> None:
    redis_server.kill()
    assert run("backup", str(tmp_path / "copy"))[::2] == (0, "")


def test_a_backup_of_a_former_release_is_restored(copy: Path, tmp_path: Path) -> None:
    """Its manifest has numbers of items that only Redis had."""
    change_manifest(copy, not_in_sql={"view": 1})
    assert run("restore", str(copy), "--replace").code == 0
    assert User.objects.filter(username="alice").exists()
