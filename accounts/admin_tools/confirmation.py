"""The page that asks staff to confirm an action."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin


class Question(NamedTuple):
    """The words of the page. action: the name of the action that the page calls again when it is confirmed.

    parameters: further values of the form beside the action, by name. error, field: what is wrong with the action, and
    the field that corrects it; the answer of such a question is a request of its own, which is not confirmed.
    """

    action: str
    title: Any
    effect: Any
    button: Any
    parameters: Mapping[str, str] = {}
    error: str = ""
    field: SafeString | None = None


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether staff have confirmed the action of this request."""
    return request.POST.get("confirmed") == "yes"


def ask_for_confirmation(
    model_admin: ModelAdmin, request: HttpRequest, question: Question, rows: Sequence[tuple[Model, str]]
) -> TemplateResponse:
    """Return the confirmation page. rows: the selected rows, each with its text in the list."""
    context = {
        **model_admin.admin_site.each_context(request),
        "title": question.title,
        "opts": model_admin.opts,
        "rows": rows,
        "question": question,
        "checkbox": ACTION_CHECKBOX_NAME,
        "back": reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_changelist"),
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
