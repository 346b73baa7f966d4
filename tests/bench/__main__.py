"""Run all benchmarks on SQLite and PostgreSQL: ``python -m tests.bench [--only WORD] [--data DIR]``.

Each database is measured in its own process (``--on``). The table is printed and written to ``var/bench.json``.
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

from demo import environment
from tests.bench.table import measure, render
from tests.support.real_data import GOODBOOKS
from tests.support.servers import PostgresServer, find_postgres, temporary_folder
from tests.support.servers.redis import RedisServer

ROOT = Path(__file__).resolve().parent.parent.parent
RESULT = ROOT / "var" / "bench.json"


def main() -> int:
    """Run the benchmarks and print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Every promise about speed as a ratio.")
    parts = "catalogue, tokens, accounts, fanout, timelines, shop_rush, shop_cart, drains, writes, hung"
    parts += ", admin, visits, conversation, pages"
    parser.add_argument("--only", default="", help=f"a part ({parts}), or a word of a name")
    parser.add_argument("--data", type=Path, default=GOODBOOKS, help="a folder in goodbooks format")
    parser.add_argument("--on", choices=["sqlite", "postgres"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.on:
        return _one(options.on, options.only, options.data)
    rows, missed = [], False
    databases = [] if options.only == "pages" else ["sqlite", *(["postgres"] if find_postgres() else [])]
    for on in databases:
        command = [sys.executable, "-m", "tests.bench", "--on", on, "--only", options.only, "--data", str(options.data)]
        output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
        rows += json.loads(output.splitlines()[-1])
    for named, module, more in (
        ("login log", "loginlog", []),
        ("recommendations", "recommend", ["--data", str(options.data)]),
    ):
        if options.only in named:
            command = [sys.executable, "-m", f"tests.bench.{module}", "--json", *more]
            rows += json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False, text=True).stdout)
    if options.only in ("", "pages"):
        # Its own table, because it compares rates and not seconds.
        command = [sys.executable, "-m", "tests.bench.pages"]
        missed = subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    if not find_postgres():
        print("PostgreSQL is not installed: measured on SQLite only")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    print(render(rows))
    return 1 if missed or any(row["met"] == "NO" for row in rows) else 0


def _one(on: str, only: str, data: Path) -> int:
    """Run all benchmarks on one database with its own servers. The last line of the output is JSON."""
    postgres = PostgresServer().start() if on == "postgres" else None
    folder = temporary_folder()
    os.environ["DATABASE_URL"] = postgres.url("postgres") if postgres else f"sqlite:///{folder / 'bench.sqlite3'}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.bench.settings"
    os.environ["REDIS_PREFIX"] = ""
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with RedisServer() as redis:
        os.environ.update(redis.environment())
        import django

        django.setup()
        rows = _measure(on, only, data)
    if postgres:
        postgres.stop()
    print(json.dumps(rows))
    return 0


def _measure(on: str, only: str, data: Path) -> list[dict[str, object]]:
    from django.core.management import call_command

    from mirror.models import Change

    call_command("migrate", run_syncdb=True, verbosity=0)
    if not data.is_dir():
        sys.exit(f"{data} is not there: give --data a folder in goodbooks format")
    from tests.bench import (
        accounts,
        admin,
        catalogue,
        conversation,
        drains,
        fanout,
        hung,
        shop_cart,
        shop_rush,
        timelines,
        tokens,
        visits,
        writes,
    )

    everything = [
        catalogue, tokens, accounts, fanout, timelines, shop_rush, shop_cart, drains, writes, hung,
        admin, visits, conversation,
    ]  # fmt: skip
    named = [part for part in everything if part.__name__.endswith(f".{only}")]
    parts, word = (named, "") if named else (everything, only)
    if catalogue in parts:
        call_command("import_goodbooks", str(data), "--books-only", stdout=sys.stderr)
        Change.objects.all()._raw_delete("default")
    found = []
    for comparison in chain.from_iterable(part.comparisons() for part in parts):
        if word in comparison.what:
            row = measure(comparison).as_dict()
            found.append({**row, "what": f"{row['what']} ({'SQLite' if on == 'sqlite' else 'PostgreSQL'})"})
    return found


if __name__ == "__main__":
    sys.exit(main())
