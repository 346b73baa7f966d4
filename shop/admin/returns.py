"""Returns in the admin: the queue of staff, with actions for each state."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import PermittedLinks
from common.refusals import Refused
from shop.admin.base import LinkedToOrder, WithPermissionsOfOrders
from shop.admin.row_actions import ACTION, PageWithActions, apply_to_each, warn_of_unchanged
from shop.models import EventKind, Return, ReturnLine, ReturnState
from shop.returns.services import accept_return, receive_return, refuse_return

STATE_LABELS = {"asked": "warning", "accepted": "info", "received": "success", "refused": "danger"}


class ReturnLineInline(WithPermissionsOfOrders, PermittedLinks, TabularInline):
    """The books of a return."""

    model = ReturnLine
    extra = 0
    can_delete = False
    hide_title = True
    verbose_name_plural = _("books")
    fields = readonly_fields = ["title", "copies", "reason"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReturnLine]:
        return super().get_queryset(request).select_related("line")

    @display(description=_("title"))
    def title(self, returned: ReturnLine) -> str:
        return returned.line.title

    @display(description=_("copies"))
    def copies(self, returned: ReturnLine) -> str:
        count = {"n": returned.quantity, "ordered": returned.line.quantity}
        return (
            ngettext("%(n)d of %(ordered)d ordered copy", "%(n)d of %(ordered)d ordered copies", count["ordered"])
            % count
        )


class AnswerForm(forms.Form):
    """Why a return is refused."""

    answer = forms.CharField(label=_("answer"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}))


class PageStep(NamedTuple):
    """A button on the page of a return."""

    name: str
    words: Promise


STEPS: Final = {  # by the state of the return
    ReturnState.ASKED: [PageStep("accept", _("Accept"))],
    ReturnState.ACCEPTED: [
        PageStep("receive_and_restock", _("Books received: refund, and back into stock")),
        PageStep("receive", _("Books received: refund, not sold again")),
    ],
}


@admin.register(Return)
class ReturnAdmin(WithPermissionsOfOrders, LinkedToOrder, PageWithActions):
    """Returns, the newest first. The buttons of a return's page take its steps; a refusal needs an answer."""

    change_form_outer_before_template = "shop/admin/return_actions.html"

    list_display = ["number", "order_number", "status", "note", "created_at", "is_restocked"]
    list_filter = ["state"]
    ordering: ClassVar[Any] = ["-pk"]
    fields = ["order", "state", "note", "answer", "refund", "is_restocked", "created_at", "decided_at", "received_at"]
    readonly_fields = fields
    inlines = [ReturnLineInline]
    actions = ["accept", "receive_and_restock", "receive"]

    @display(description=_("return"), ordering="pk")
    def number(self, row: Return) -> str:
        return row.number

    @display(description=_("state"), label=STATE_LABELS)
    def status(self, row: Return) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @admin.action(description=_("Accept selected returns"), permissions=["change"])
    def accept(self, request: HttpRequest, rows: QuerySet[Return]) -> None:
        self._each(request, rows, EventKind.RETURN_ACCEPTED, accept_return)

    @admin.action(description=_("Books received: refund them, and put them back into stock"), permissions=["change"])
    def receive_and_restock(self, request: HttpRequest, rows: QuerySet[Return]) -> None:
        self._each(request, rows, EventKind.RETURN_RECEIVED, partial(receive_return, restock=True))

    @admin.action(description=_("Books received: refund them, but do not sell them again"), permissions=["change"])
    def receive(self, request: HttpRequest, rows: QuerySet[Return]) -> None:
        self._each(request, rows, EventKind.RETURN_RECEIVED, partial(receive_return, restock=False))

    def list_page_actions(self, row: Return) -> dict[str, Any]:
        steps = STEPS.get(ReturnState(row.state), [])
        return {"steps": steps, "answer": AnswerForm() if steps else None}

    def make_action_form(self, request: HttpRequest, row: Return) -> forms.Form | None:
        return AnswerForm(request.POST) if request.POST[ACTION] == "refuse" else None

    def take_action(self, action: str, row: Return, by: Any, form: Any) -> str:
        match action:
            case "accept":
                accept_return(row.pk, by)
                step = EventKind.RETURN_ACCEPTED
            case "refuse":
                refuse_return(row.pk, by, form.cleaned_data["answer"])
                step = EventKind.RETURN_REFUSED
            case "receive" | "receive_and_restock":
                receive_return(row.pk, by, restock=action == "receive_and_restock")
                step = EventKind.RETURN_RECEIVED
            case _:
                raise Refused
        return f"{capfirst(step.label)}."

    def _each(self, request: HttpRequest, rows: QuerySet[Return], step: EventKind, do: Callable[..., Any]) -> None:
        """Do something with each return, called with its id and the member of staff."""
        chosen = self.chosen(request, rows)
        done, undone = apply_to_each(chosen, lambda row: do(row.pk, request.user), lambda row, refusal: str(refusal))
        self.log(request, done, CHANGE, f"{capfirst(step.label)}.")
        warn_of_unchanged(self, request, undone)
        text = ngettext("%(n)d return was changed.", "%(n)d returns were changed.", len(done)) % {"n": len(done)}
        if done:
            self.message_user(request, text, messages.SUCCESS)
