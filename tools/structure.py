"""Measure how dense the code of each folder is: ``python -m tools.structure [FOLDER ...]``.

A row for each folder: branches per statement (packed code has more), comprehensions and starred expressions and comment
lines per 100 statements, and the share of function names with one word. Circles of imports have a test of their own
(``tests/test_imports.py``). The exit status is 1 if a folder exceeds a goal, or its own limit in ``LIMITS`` while it is
further from the goal. These limits may only come closer to the goals.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("accounts", "catalog", "common", "config", "demo", "loginlog", "mirror", "shop", "social", "tools")
Measures = Mapping[str, float]

# branches: at most per statement. packed: at most per 100 statements. comments: at least. one-word: at most.
GOALS: Final[Measures] = {"branches": 0.25, "packed": 6.0, "comments": 3.0, "one-word": 0.40}
GOALS_OF_MIRROR: Final[Measures] = {**GOALS, "comments": 5.0}
LIMITS: Final[Mapping[str, Measures]] = {"tools": {"branches": 0.291}}

BRANCHES: Final = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.Assert,
)  # fmt: skip


def count_branches(nodes: Sequence[ast.AST]) -> int:
    """Return the number of points at which the code decides between two ways."""
    found = sum(isinstance(node, BRANCHES) for node in nodes)
    for node in nodes:
        if isinstance(node, ast.comprehension):
            found += len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.Match):
            found += len(node.cases) - 1
    return found


def is_statement(node: ast.AST) -> bool:
    """Return whether a node is a statement other than a docstring."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not is_text


def is_of_one_word(name: str) -> bool:
    """Return whether a name consists of one word."""
    return "_" not in name.strip("_")


def iterate_files(folder: Path) -> Iterator[Path]:
    """Yield the Python files of a folder, without migrations."""
    for path in sorted(folder.rglob("*.py")):
        if "migrations" not in path.relative_to(folder).parts:
            yield path


def measure(folder: Path) -> Measures:
    """Return the measures of a folder."""
    nodes: list[ast.AST] = []
    comments = 0
    for path in iterate_files(folder):
        source = path.read_text(encoding="utf-8")
        nodes += ast.walk(ast.parse(source))
        comments += sum(line.lstrip().startswith("#") for line in source.splitlines())
    statements = sum(map(is_statement, nodes))
    packed = sum(isinstance(node, (ast.comprehension, ast.Starred)) for node in nodes)
    functions = [node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    names = [name for name in functions if not name.startswith("__")]
    return {
        "statements": statements,
        "branches": count_branches(nodes) / statements,
        "packed": 100 * packed / statements,
        "comments": 100 * comments / statements,
        "one-word": sum(map(is_of_one_word, names)) / max(1, len(names)),
    }


def find_faults(name: str, found: Measures) -> Iterator[str]:
    """Yield the measures of a folder that are worse than its limit."""
    goals = GOALS_OF_MIRROR if name == "mirror" else GOALS
    for measured, limit in {**goals, **LIMITS.get(name, {})}.items():
        is_worse = found[measured] < limit if measured == "comments" else found[measured] > limit
        if is_worse:
            yield f"{name}: {measured} is {found[measured]:.2f}, and the limit is {limit:.2f}"


def main(folders: Sequence[str]) -> int:
    """Print the measures and the faults. Return 1 if there are faults."""
    faults: list[str] = []
    print("folder      statements  branches  packed  comments  one-word")
    for name in folders or FOLDERS:
        found = measure(ROOT / name)
        row = (found["statements"], found["branches"], found["packed"], found["comments"], found["one-word"])
        print("{:10}  {:10.0f}  {:8.2f}  {:6.1f}  {:8.1f}  {:8.0%}".format(name, *row))
        faults += find_faults(name, found)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
