"""Admin actions: those of selected rows, each handled separately, and those on the page of a row."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from common.refusals import Refused
from common.web import redirect_to
from shop.admin.base import LedgerAdmin
from shop.services.errors import OrderNotFound, OrderStateRefused
from shop.services.stock import LedgerError

logger = logging.getLogger("shop")
T = TypeVar("T")
ACTION: Final = "page_action"  # the parameter with the name of an action on a page


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


def explain_refusal(refusal: Refused) -> str:
    """Return why a step was refused, in words for staff."""
    if isinstance(refusal, OrderNotFound):
        return gettext("it no longer exists")
    return str(refusal.reason) if isinstance(refusal, OrderStateRefused) else str(refusal)


def _list_errors(form: Form) -> str:
    """Return the errors of a form in words, each with the name of its field."""
    found = []
    for name, errors in form.errors.items():
        words = " ".join(map(str, errors))
        label = capfirst(form[name].label) if name in form.fields else ""
        found.append(gettext("%(field)s: %(errors)s") % {"field": label, "errors": words} if label else words)
    return " ".join(found)


class PageWithActions(LedgerAdmin):
    """The page of a row with actions: forms beside its fields, which post to the page with the name of the action."""

    def list_page_actions(self, row: Any) -> dict[str, Any]:
        """Return the context of the template that shows the actions, for staff who may change the row."""
        raise NotImplementedError

    def make_action_form(self, request: HttpRequest, row: Any) -> Form | None:
        """Return the form of the action, or None for an action that is a button alone."""
        raise NotImplementedError

    def take_action(self, action: str, row: Any, by: Any, form: Any) -> str:
        """Take an action. Return the words for staff and for the log. Raises a subclass of Refused."""
        raise NotImplementedError

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a row, save it, or take one of its actions (POST)."""
        if request.method == "POST" and ACTION in request.POST:
            return self._act(request, unquote(object_id))
        return super().change_view(request, object_id, form_url, extra_context)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Model | None = None,
    ) -> HttpResponse:
        if obj is not None and self.has_change_permission(request, obj):
            context |= self.list_page_actions(obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _act(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the action that a form names, and return to the page."""
        # Without the lock of an edit, which needs a transaction: the service locks the order.
        row = ModelAdmin.get_object(self, request, object_id)
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        form = self.make_action_form(request, row)
        if form is not None and not form.is_valid():
            self.message_user(request, _list_errors(form), messages.ERROR)
            return redirect_to(request.path)
        try:
            done = self.take_action(request.POST[ACTION], row, request.user, form)
        except Refused as refusal:
            text = gettext("Not changed: %(rows)s")
            self.message_user(request, text % {"rows": f"{row} ({explain_refusal(refusal)})"}, messages.ERROR)
        else:
            self.log(request, [row], CHANGE, done)
            self.message_user(request, done, messages.SUCCESS)
        return redirect_to(request.path)
