"""Collect the fields that commands report with ``--json``."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest import mock

from django.core.management import call_command
from django.test import override_settings

from accounts.models import User
from catalog.models import Book
from mirror.redis.clients import relay_client
from shop.models import Product
from tests.names.code import parsers, takes_json
from tests.names.shapes import Shapes
from tests.support.catalog import goodbooks
from tests.support.deploy.other_site import use_other_site
from tests.support.mirror.command import run

MAPS: Final = {"[].errors": "<item>", "errors": "<error>", "done": "<act>", "dirt": "<dirt>", "refused": "<file>"}
TRAFFIC: Final = "demo.management.commands.demo_traffic.run_visitors"
DAY: Final = "2017-10-25"
SPAN: Final = ("--from", DAY, "--to", DAY)


def collect(folder: Path) -> list[str]:
    """Return lines ``manage.py command field: type``. Writes files to ``folder``."""
    wanted = {name for name, parser in parsers() if takes_json(parser)}
    shapes, seen = Shapes(MAPS), set[str]()
    with override_settings(LOGINLOG_FOLDER=folder), mock.patch(TRAFFIC, return_value=Counter(look=1)):
        for name, *arguments in _runs(folder):
            label = f"{name} {arguments[0]}" if arguments and f"{name} {arguments[0]}" in wanted else name
            ran = run(*arguments, "--json", name=name)
            assert ran.out, f"{label}: {ran.err}"
            shapes.add(f"manage.py {label}", ran.said)
            seen.add(label)
    assert seen == wanted, f"say in {__name__} how to run: {wanted - seen}"
    return shapes.lines()


def _runs(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield commands with arguments, in an order in which each command has something to report."""
    call_command("loaddata", "seed_examples", verbosity=0)
    Product.objects.bulk_create(Product(book_id=pk, price=1250, stock=9) for pk in (1, 2, 3))
    User.objects.create_superuser("alice")
    yield ("mirror", "status")
    yield ("mirror", "rebuild")
    yield from _mirror_runs()
    yield from _loginlog_runs(folder)
    yield ("accounts", "unlock")
    for option in ((), ("--dry-run",)):
        yield ("sessions", "clean", *option)
    yield from (("views", "rescale"), ("views", "expire"), ("recommend", "rebuild"))
    yield ("issue_invoices",)
    yield from (("rowcache", "schedule", "1", "5"), ("rowcache", "run", "--once"))
    yield from (("timelines", "rebuild", "--user", "alice"), ("timelines", "status"))
    yield from _import_runs(folder)
    yield ("demo_traffic", "--yes", "--seconds", "1")
    yield ("site", "backup", str(folder / "backup"))
    with use_other_site(folder):
        yield ("site", "restore", str(folder / "backup"))


def _mirror_runs() -> Iterator[tuple[str, ...]]:
    redis = relay_client()
    redis.delete("book:1")
    redis.sadd("{tag}:ruby", 99)
    yield from (("mirror", action, "book") for action in ("verify", "repair"))
    redis.delete("book:1")
    Book.objects.filter(pk=1).update(title="Erlang")  # sends no signal, so the change stays pending
    yield ("mirror", "explain", "catalog.Book", "1")
    yield ("mirror", "drain")
    yield ("mirror", "run", "--once")
    yield ("mirror", "doctor")
    yield ("mirror", "uninstall")
    yield ("mirror", "status")


def _loginlog_runs(folder: Path) -> Iterator[tuple[str, ...]]:
    yield ("loginlog", "mark", "alice", "--date", DAY)
    yield ("loginlog", "user", "alice", *SPAN)
    yield from (("loginlog", "active", *SPAN, *option) for option in ((), ("--type", "client")))
    yield ("loginlog", "sync")
    yield ("loginlog", "expire")
    [file] = [path for path in folder.iterdir() if path.is_file()]
    yield ("loginlog", "load", str(file))
    yield ("loginlog", "unmark", "alice", "--date", DAY)
    yield ("loginlog", "erase", "alice")


def _import_runs(folder: Path) -> Iterator[tuple[str, ...]]:
    yield ("demo_books",)
    covers = folder / "covers"
    covers.mkdir()
    for name in ("1.jpg", "999999999.jpg"):
        (covers / name).write_bytes(b"no picture")
    yield ("import_covers", str(covers))
    yield ("import_goodbooks", str(goodbooks.write(folder, goodbooks.books_csv({}))))
    messages = folder / "CollegeMsg.txt"
    messages.write_text("1 2 1082040961\n", encoding="utf-8")
    yield ("import_collegemsg", str(messages))
