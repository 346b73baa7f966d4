"""Refuse requests to the admin that its pages never send, at which Django fails."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import TO_FIELD_VAR
from django.core.exceptions import BadRequest, ValidationError
from django.forms.formsets import TOTAL_FORM_COUNT
from django.http import HttpRequest, HttpResponse, QueryDict

from common.middleware.policy import ADMIN_PATH

MAX_FORMS_WITHOUT_FIELDS: Final = 200  # rows that a page shows, but that cannot be changed there, send no fields


class AdminFieldsMiddleware:
    """Middleware that answers 400 to values that no field of an admin page has.

    These are the empty name of a field, a choice that is no primary key, and more rows than the form has.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> None:
        """Check the parameters that Django trusts."""
        if not request.path_info.startswith(ADMIN_PATH):
            return
        if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
            raise BadRequest
        # Django names the model of each of its views.
        if request.method == "POST" and (model_admin := getattr(view, "model_admin", None)):
            _check_row_counts(request.POST)
            try:
                _check_choices(request.POST, model_admin)
            except ValidationError as error:
                raise BadRequest from error


def _check_row_counts(post: QueryDict) -> None:
    for name in post:
        value = str(post[name])
        prefix = name.removesuffix(TOTAL_FORM_COUNT)
        if prefix != name and value.isdecimal():
            field_count = sum(other.startswith(prefix) for other in post)
            if len(value) > 9 or int(value) > field_count + MAX_FORMS_WITHOUT_FIELDS:
                raise BadRequest


def _check_choices(post: QueryDict, model_admin: Any) -> None:
    """Raise ValidationError for a choice that cannot be a primary key of the rows to choose from."""
    fields = _find_choice_fields(model_admin) | {ACTION_CHECKBOX_NAME: _find_key(model_admin.model._meta.pk)}
    inline_fields: dict[str, Any] = {}
    for inline in model_admin.inlines:
        inline_fields |= _find_choice_fields(inline)
    for name, values in post.lists():
        prefix, _, end = name.rpartition("-")  # "tagging_set-0-tag"
        field = (inline_fields if prefix else fields).get(end)
        for value in filter(None, values):
            if field is not None:
                field.clean(value, None)


def _find_choice_fields(model_admin: Any) -> dict[str, Any]:
    """Return the primary keys that the fields with several choices, or with a search for one, refer to."""
    meta = model_admin.model._meta
    searched = [meta.get_field(name) for name in model_admin.autocomplete_fields]
    return {field.name: _find_key(field) for field in (*meta.many_to_many, *searched)}


def _find_key(field: Any) -> Any:
    """Return the field that a reference ends at: the reference itself would look its rows up in SQL."""
    return _find_key(field.target_field) if field.remote_field else field
