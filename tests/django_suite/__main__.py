"""Run applications of Django's own tests with mirrors for all their models, and compare SQL and Redis after each test.

    python -m tests.django_suite [--only WORD] [--on sqlite|postgres]

Each application runs twice on each database, without mirrors and with them, in a process of its own. The table counts
the failures of both runs. ``var/django-suite`` has the details and the logs.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.django_suite.source import FOLDER, ROOT, Unavailable, find_tests
from tests.support.servers import PostgresServer, find_postgres
from tests.support.servers.redis import RedisServer

# Chosen by what they do with rows, keys, relations and transactions.
APPLICATIONS: Final = (
    "basic",
    "bulk_create",
    "composite_pk",
    "custom_columns",
    "custom_managers",
    "custom_pk",
    "delete",
    "expressions",
    "force_insert_update",
    "foreign_object",
    "generic_relations",
    "get_or_create",
    "m2m_intermediary",
    "m2m_multiple",
    "m2m_recursive",
    "m2m_through",
    "m2m_through_regress",
    "many_to_many",
    "many_to_one",
    "model_fields",
    "model_inheritance",
    "model_inheritance_regress",
    "one_to_one",
    "ordering",
    "proxy_models",
    "save_delete_hooks",
    "select_for_update",
    "transactions",
    "update",
)
HEADER: Final = (
    "application", "database", "tests", "Django's failures", "extra failures", "models", "with a mirror",
    "refused parts", "compared", "changes", "differences",
)  # fmt: skip


def main() -> int:
    """Run the suite and print the table. Return 0 if no test fails with mirrors alone and nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.django_suite", description=__doc__)
    parser.add_argument("--only", default="", help="a word in the names of the applications")
    parser.add_argument("--on", choices=["sqlite", "postgres"], help="one database; default: both")
    options = parser.parse_args()
    try:
        source = find_tests()
    except Unavailable as error:
        print(f"Django's tests were not run: {error}", file=sys.stderr)
        return 2
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|", flush=True)
    results = []
    for on in [options.on] if options.on else ["sqlite", "postgres"]:
        if on == "postgres" and find_postgres() is None:
            print("PostgreSQL is not installed: Django's tests ran on SQLite only", file=sys.stderr)
            continue
        with start_servers(on) as environment:
            for application in APPLICATIONS:
                if options.only in application:
                    results.append(result := run(source, application, on, environment))
                    print(describe(result), flush=True)
    (FOLDER / f"result{f'-{options.on}' if options.on else ''}.json").write_text(
        json.dumps(results, indent=1), encoding="utf-8"
    )
    print_details(results)
    return 1 if any(result["extra"] or result["differences"] for result in results) else 0


@contextmanager
def start_servers(on: str) -> Iterator[dict[str, str]]:
    """Start a Redis and perhaps a PostgreSQL. Yield the environment of the child processes."""
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        url = ""
        if on == "postgres":
            postgres = PostgresServer().start()
            stack.callback(postgres.stop)
            url = postgres.url()
        yield {**os.environ, "SUITE_REDIS": redis.url(0), "SUITE_DATABASE": url}


def run(source: Path, application: str, on: str, environment: dict[str, str]) -> dict[str, Any]:
    """Run an application without mirrors and with them. Return both results together."""
    plain = run_child(source, application, environment, "--plain")
    result = run_child(source, application, environment)
    extra = {name: text for name, text in result["failures"].items() if name not in plain["failures"]}
    return {**result, "application": application, "on": on, "plain": plain["failures"], "extra": extra}


def run_child(source: Path, application: str, environment: dict[str, str], *options: str) -> dict[str, Any]:
    """Run an application in a process of its own. Its log is in ``var/django-suite``."""
    command = [sys.executable, "-m", "tests.django_suite.child", str(source), application, *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    kind = "postgres" if environment["SUITE_DATABASE"] else "sqlite"
    (FOLDER / f"{application}-{kind}{''.join(options)}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    try:
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        empty = {"tests": 0, "models": 0, "mirrored": 0, "compared": 0, "uncompared": 0, "changes": 0}
        lists: dict[str, Any] = {"refused": [], "differences": [], "log": {}}
        return {**empty, **lists, "failures": {f"{application} could not run{''.join(options)}": last}}
    return result


def describe(result: dict[str, Any]) -> str:
    """Return the line of the table."""
    cells = (
        result["application"], result["on"], result["tests"], len(result["plain"]), len(result["extra"]),
        result["models"], result["mirrored"], len(result["refused"]), result["compared"], result["changes"],
        len(result["differences"]),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def print_details(results: list[dict[str, Any]]) -> None:
    """Print what was refused, failed and differed, each once for all databases."""
    refused = {(model, part, reason) for r in results for model, part, reason, _ in r["refused"]}
    failed = {(name, text) for r in results for name, text in r["extra"].items()}
    lines = {
        "Refused": sorted(f"{model}, {part}: {reason}" for model, part, reason in refused),
        "Extra failures": sorted(f"{name}: {text}" for name, text in failed),
        "Differences": sorted({text for r in results for text in r["differences"]}),
        "Errors in the log": sorted({f"{count} times: {line}" for r in results for line, count in r["log"].items()}),
    }
    for title, found in lines.items():
        print(f"\n{title}: {len(found)}")
        for line in found:
            print(f"  {line}")


if __name__ == "__main__":
    sys.exit(main())
