"""Check that the project is written in plain English: ``python tools/prose.py [PATH ...] [--worst N] [--commits N]``.

The script counts words that occur when a clause replaces the noun that should be the subject of a sentence ("who posts"
instead of "the author", "what was said" instead of "the old record"). It reads comments, docstrings, names of tests,
translatable strings, templates, Markdown, Lua, shell, configuration and style sheets, and optionally commit subjects.

Rates are hits per 1,000 words. Each group of words has a limit for the repository without ``mirror/``, and each
top-level folder has a limit for all groups together. The exit status is 1 if a limit is exceeded.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Group(NamedTuple):
    """Words that hint at the same habit. limit: hits per 1,000 words."""

    name: str
    pattern: re.Pattern[str]
    limit: float


class Text(NamedTuple):
    """A piece of prose. place: its file, or "commit"."""

    place: str
    prose: str

    @property
    def folder(self) -> str:
        """The top-level folder, or "." for files outside of folders."""
        parts = Path(self.place).parts
        return parts[0] if len(parts) > 1 else "."


class Hit(NamedTuple):
    """A sentence with words of a group. size: the number of these words in the sentence."""

    text: Text
    group: str
    size: int
    sentence: str


GROUPS: Final = (
    Group(
        "who, whose, nobody",
        re.compile(
            r"\b(?:who|whom|whose|whoever|nobody|nobody's|somebody|somebody's|anybody|others')\b", re.IGNORECASE
        ),
        2.0,
    ),
    Group("what, whatever", re.compile(r"\bwhat(?:ever)?\b", re.IGNORECASE), 3.0),
    Group(
        "is to be, there is no",
        re.compile(
            r"\b(?:is|are|was|were) to be\b|\bthere (?:is|are|was) (?:no|none|nothing|nobody)\b"
            r"|\bfor (?:it|there) (?:is|are|was)\b",
            re.IGNORECASE,
        ),
        1.0,
    ),
)
UNLIMITED: Final = "mirror"  # a folder that counts only for its own limit
FOLDER_LIMIT: Final = 8.0
FEW_WORDS: Final = 300  # folders with fewer words have no meaningful rate
SKIPPED: Final = "migrations"
GETTEXT: Final = {"_", "gettext", "gettext_lazy", "ngettext", "pgettext"}
WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]+")
SENTENCE_END: Final = re.compile(r"(?<=[.;:!?])\s+|\n\s*\n")
CODE_IN_MARKDOWN: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
TRANSLATED: Final = re.compile(
    r"{%-?\s*(?:translate|trans)\s+(['\"])(.*?)\1|{%-?\s*blocktrans(?:late)?[^%]*%}(.*?){%-?\s*endblocktrans",
    re.DOTALL,
)
COMMENT: Final = re.compile(r"(?:#|/\*)\s+(.*)")
LUA_COMMENT: Final = re.compile(r"--\s*(.*)")
SCRIPT_COMMENT: Final = re.compile(r"(?:^|\s)//\s+(.*)", re.MULTILINE)
COMMENTS: Final = {
    "": COMMENT,
    ".sh": COMMENT,
    ".toml": COMMENT,
    ".yml": COMMENT,
    ".yaml": COMMENT,
    ".css": COMMENT,
    ".lua": LUA_COMMENT,
    ".js": SCRIPT_COMMENT,
}


def read_file(path: Path) -> Iterator[str]:
    """Yield the prose of a file. A file of another type has none."""
    source = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        yield from read_python(source)
    elif path.suffix == ".md":
        yield CODE_IN_MARKDOWN.sub(" ", source)
    elif path.suffix == ".html":
        for found in TRANSLATED.finditer(source):
            yield found[2] or found[3] or ""
    elif path.suffix in COMMENTS:
        yield from COMMENTS[path.suffix].findall(source)


def read_python(source: str) -> Iterator[str]:
    """Yield docstrings, names of tests, translatable strings and comments. Raises SyntaxError."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name.removeprefix("test_").replace("_", " ")
        if isinstance(node, ast.Call):
            yield _read_message(node)
    # The syntax tree has no comments.
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def _read_message(call: ast.Call) -> str:
    """Return the message of a call of gettext, or ""."""
    if not isinstance(call.func, ast.Name) or call.func.id not in GETTEXT:
        return ""
    return " ".join(str(part.value) for part in call.args if isinstance(part, ast.Constant))


def read_repository(paths: list[str]) -> Iterator[Text]:
    """Yield the prose of all tracked files below ``paths``, or of the repository if there are none."""
    # -z, because git quotes names with letters outside of ASCII.
    names = _git("ls-files", "-z", "--", *paths).split("\0")
    for name in filter(None, names):
        path = Path(name)
        # A deleted file is tracked until its removal is committed.
        if path.is_file() and SKIPPED not in path.parts:
            for prose in read_file(path):
                yield Text(name, prose)


def read_commits(count: int) -> Iterator[Text]:
    """Yield the subjects of the last ``count`` commits."""
    # Without a number, git would list all commits.
    if not count:
        return
    for subject in _git("log", f"-{count}", "--format=%s").splitlines():
        yield Text("commit", subject)


def find_hits(texts: Iterable[Text]) -> Iterator[Hit]:
    """Yield every sentence that has words of a group, once per group."""
    for text in texts:
        for sentence in SENTENCE_END.split(text.prose):
            for group in GROUPS:
                size = len(group.pattern.findall(sentence))
                if size:
                    yield Hit(text, group.name, size, " ".join(sentence.split()))


def count_words(texts: Iterable[Text]) -> Counter[str]:
    """Return the number of words in each top-level folder."""
    words = Counter[str]()
    for text in texts:
        words[text.folder] += len(WORD.findall(text.prose))
    return words


def check_groups(words: Counter[str], hits: list[Hit]) -> bool:
    """Print the rate of each group without ``mirror/``, and return whether all limits are kept."""
    total = max(1, words.total() - words[UNLIMITED])
    is_kept = True
    counts = Counter[str]()
    for hit in hits:
        if hit.text.folder != UNLIMITED:
            counts[hit.group] += hit.size
    for group in GROUPS:
        count = counts[group.name]
        rate = 1000 * count / total
        is_kept &= rate <= group.limit
        print(f"{group.name:24}{rate:5.1f} per 1,000 words, limit {group.limit}")
    return is_kept


def check_folders(words: Counter[str], hits: list[Hit]) -> bool:
    """Print the rate of each top-level folder, and return whether all are within ``FOLDER_LIMIT``."""
    counts = Counter[str]()
    for hit in hits:
        counts[hit.text.folder] += hit.size
    rates = []
    for folder, total in words.items():
        if total >= FEW_WORDS:
            rates.append((1000 * counts[folder] / total, folder))
    is_kept = True
    for rate, folder in sorted(rates, reverse=True):
        is_kept &= rate <= FOLDER_LIMIT
        print(f"{folder:24}{rate:5.1f} per 1,000 words, limit {FOLDER_LIMIT}")
    return is_kept


def main() -> int:
    """Print rates and the worst sentences. Return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders; default: the repository")
    parser.add_argument("--worst", type=int, default=15, metavar="N", help="print N sentences (15)")
    parser.add_argument(
        "--commits", type=int, default=0, metavar="N", help="include the subjects of the last N commits"
    )
    options = parser.parse_args()
    texts = list(read_repository(options.paths))
    texts += read_commits(options.commits)
    words, hits = count_words(texts), list(find_hits(texts))
    # Both print, so both run in any case.
    groups_are_kept = check_groups(words, hits)
    folders_are_kept = check_folders(words, hits)
    for hit in sorted(hits, key=lambda hit: -hit.size)[: options.worst]:
        print(f"  {hit.text.place}: {hit.sentence[:150]}")
    return 0 if groups_are_kept and folders_are_kept else 1


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, check=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
