"""Run an import that stops in the middle of a transaction.

Usage: ``python -m tests.catalog.interrupted_import KIND ARGUMENTS...``. KIND is a kind of row as the import
reports its progress. Once the first rows of that kind are committed and further rows are written but not committed, the
process prints "in the middle" and waits to be killed.
"""

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from catalog.importer import books, tags  # noqa: E402
from mirror.management.progress import Progress  # noqa: E402

BATCH = 100  # rows per transaction, fewer than the sample has of each kind


def main(what: str, *arguments: str) -> None:
    """Run ``import_goodbooks`` until the first uncommitted insert after progress on ``what``."""
    tell, is_due = Progress.__call__, False

    def told(self: Progress, kind: str, rows: int) -> None:
        nonlocal is_due
        is_due = is_due or kind == what
        tell(self, kind, rows)

    def execute(do: Callable[..., Any], sql: str, *asked: Any) -> Any:
        done = do(sql, *asked)
        if is_due and sql.lstrip().startswith("INSERT"):
            assert connection.in_atomic_block
            print("in the middle", flush=True)
            sys.exit(sys.stdin.read())  # returns only when the parent process has ended
        return done

    books.BATCH_SIZE = tags.BATCH_SIZE = BATCH
    with patch.object(Progress, "__call__", told), connection.execute_wrapper(execute):
        call_command("import_goodbooks", *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
