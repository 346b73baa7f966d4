"""Admin actions that handle each selected row separately and report the rows that failed."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from common.refusals import Refused
from shop.services.stock import LedgerError

logger = logging.getLogger("shop")
T = TypeVar("T")


class UnchangedRow(NamedTuple):
    """A row that an action left unchanged. why: the reason, in the language of the staff member."""

    row: Any
    why: str


def apply_to_each(
    rows: Iterable[T], do: Callable[[T], Any], explain: Callable[[T, Refused], str]
) -> tuple[list[T], list[UnchangedRow]]:
    """Call ``do`` with each row, in its own transaction. Return the rows that succeeded and those that did not.

    explain: returns the reason of a refusal in words.
    """
    done, undone = [], []
    for row in rows:
        try:
            do(row)
        except Refused as refusal:
            undone.append(UnchangedRow(row, explain(row, refusal)))
        # One failed row does not stop the others.
        except Exception as error:
            logger.exception("%r: an action of the admin failed", row)
            ledger = isinstance(error, LedgerError)
            why = gettext("not enough copies in stock") if ledger else gettext("an error: see the log")
            undone.append(UnchangedRow(row, why))
        else:
            done.append(row)
    return done, undone


def warn_of_unchanged(admin: ModelAdmin, request: HttpRequest, undone: Iterable[UnchangedRow]) -> None:
    """Show a warning that lists the unchanged rows and the reasons."""
    reasons = defaultdict(list)
    for row, why in undone:
        reasons[why].append(str(row))
    if reasons:
        words = "; ".join(f"{', '.join(rows)} ({why})" for why, rows in reasons.items())
        admin.message_user(request, gettext("Not changed: %(rows)s") % {"rows": words}, messages.WARNING)
