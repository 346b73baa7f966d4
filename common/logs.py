"""Log lines that visitors cannot forge, and that contain no secrets and no email addresses.

structlog formats the records of Django's logging: as JSON for machines, or as text for people. Both have the id of the
request, also in the tasks that the request sent.
"""

import logging
import re
import unicodedata
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import structlog
from structlog.stdlib import ProcessorFormatter

# Unicode categories: control, format (text direction), surrogate, line separator, paragraph separator.
ESCAPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
INDENT: Final = "    "
TEXTS: Final = frozenset({"event", "exception", "stack"})  # fields with texts of any origin
EMAIL: Final = re.compile(r"[\w.+-]{1,64}(?:@|%40)[\w-]+(?:\.[\w-]+)+")
# Words of 32 characters or more with a digit: session keys, their digests, tokens in links. Ids of tasks (UUID) stay.
SECRET: Final = re.compile(
    r"(?<![\w-])(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-]))(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{32,}"
)

Event = MutableMapping[str, Any]
Renderer = Callable[[Any, str, Event], str | bytes]


def escape_controls(text: str, keep: str = "") -> str:
    """Return ``text`` with control characters escaped as in Python (``\\n``, ``\\u202e``), except those in ``keep``."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ESCAPED_CATEGORIES and c not in keep else c
        for c in text
    )


def redact(text: str) -> str:
    """Return ``text`` without email addresses and without words that may be secrets."""
    return SECRET.sub("[secret]", EMAIL.sub("[email]", text))


def redact_event(logger: Any, method: str, event: Event) -> Event:
    """Redact the texts of an event (a processor of structlog)."""
    return {name: redact(value) if name in TEXTS else value for name, value in event.items()}


def drop_traceback_of_refusal(logger: Any, method: str, event: Event) -> Event:
    """Drop the traceback of a request that was refused, as by PermissionDenied (a processor of structlog).

    Django logs it for each status from 400 to 499, which any visitor can cause. The line itself stays.
    """
    status = getattr(event["_record"], "status_code", 500)
    return {name: value for name, value in event.items() if name != "exc_info" or status >= 500}


def render_text(logger: Any, method: str, event: Event) -> str:
    """Return an event as one line, and its traceback as indented lines (a renderer of structlog)."""
    details = "".join(f" {name}={event[name]}" for name in ("request_id", "task") if name in event)
    line = f"{event['timestamp']} {event['level'].upper()} {event['logger']}: {event['event']}{details}"
    blocks = [_indent(event[name]) for name in ("exception", "stack") if event.get(name)]
    return "\n".join([escape_controls(line), *blocks])


def _indent(text: str) -> str:
    return INDENT + escape_controls(text, keep="\n").replace("\n", f"\n{INDENT}")


RENDERERS: Final[Mapping[str, Renderer]] = {
    "json": structlog.processors.JSONRenderer(),  # it escapes control characters and everything but ASCII
    "text": render_text,
}


def build_formatter(kind: str) -> logging.Formatter:
    """Return the formatter for a kind of ``RENDERERS``."""
    return ProcessorFormatter(
        foreign_pre_chain=[
            drop_traceback_of_refusal,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact_event,
            RENDERERS[kind],
        ],
    )
