"""Every transaction that people wait for is repeated after a conflict with other programs."""

import ast
from collections.abc import Iterator

from tests.test_imports import ROOT

APPS = ("accounts", "catalog", "common", "config", "loginlog", "shop", "social")
# Programs that repeat their work themselves: commands, imports and demo data (a second run changes nothing), and tasks
# that beat sends again.
REPEATED_ELSEWHERE = ("importer", "management", "migrations", "bulk.py")
EXCEPTIONS = {
    "accounts/second_factor/passkeys.py:add_passkey": "one row, and the browser's challenge is used up",
    "shop/recommend/build.py:_write_rows": "a nightly task, which counts its changes as it goes",
    "social/moderation/services/decisions.py:reopen_case": "a part of its callers' transactions",
    "social/services/people.py:_exclusive_transaction": "the transaction of follow, block and mute",
}


def find_transactions() -> Iterator[tuple[str, bool]]:
    """Yield each function with a transaction, and whether it is repeated after a conflict."""
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if any(part in REPEATED_ELSEWHERE for part in path.parts):
                continue
            for function in ast.walk(ast.parse(path.read_text())):
                if isinstance(function, ast.FunctionDef) and "transaction.atomic" in _own_text(function):
                    names = {ast.unparse(decorator) for decorator in function.decorator_list}
                    yield f"{path.relative_to(ROOT)}:{function.name}", "repeat_after_conflict" in names


def _own_text(function: ast.FunctionDef) -> str:
    """Return the source of a function without the functions inside of it."""
    inner = {node for node in function.body if isinstance(node, ast.FunctionDef)}
    body = [node for node in function.body if node not in inner]
    return "\n".join(ast.unparse(node) for node in [*function.decorator_list, *body])


def test_transactions_are_repeated_after_a_conflict() -> None:
    found = dict(find_transactions())
    assert sorted(name for name, is_repeated in found.items() if not is_repeated) == sorted(EXCEPTIONS)
