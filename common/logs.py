"""Log lines that visitors cannot forge: their input never begins a line and never controls a terminal."""

import logging
import unicodedata
from types import TracebackType
from typing import Final

# Unicode categories: control, format (text direction), surrogate, line separator, paragraph separator.
ESCAPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
INDENT: Final = "    "


def escape_controls(text: str, keep: str = "") -> str:
    """Return ``text`` with control characters escaped as in Python (``\\n``, ``\\u202e``), except those in ``keep``."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ESCAPED_CATEGORIES and c not in keep else c
        for c in text
    )


class LineFormatter(logging.Formatter):
    """A formatter with one line for each record. Tracebacks are indented, because exceptions may have line breaks."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name is logging's)
        return escape_controls(super().formatMessage(record))

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return _indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return _indent(super().formatStack(stack_info))


def _indent(text: str) -> str:
    return INDENT + escape_controls(text, keep="\n").replace("\n", f"\n{INDENT}")
