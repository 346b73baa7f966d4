"""Links to rows in the admin, only for staff who may open them. Others see the text of the link."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html, strip_tags
from django.utils.safestring import SafeString, mark_safe

from accounts.sessions.engine import current_request


def may_view_list(request: HttpRequest, model: type[Model]) -> bool:
    """Return whether the request's user may view the list of a model."""
    return admin.site.get_model_admin(model).has_view_permission(request)


def link_to_rows(model: type[Model], address: str, text: object) -> SafeString:
    """Return a link to rows of ``model``, or its text if the user of the current request may not view them."""
    if not _may_follow(model):
        return format_html("{}", text)
    return format_html('<a class="underline" href="{}">{}</a>', address, text)


class PermittedLinks:
    """Read-only foreign keys of a page or an inline lead to their rows only for staff who may view them."""

    opts: Any

    @property
    def readonly_preprocess_fields(self) -> dict[str, Callable[[SafeString], SafeString]]:
        """Return django-unfold's functions that change the HTML of read-only fields, by field."""
        keys = [field for field in self.opts.concrete_fields if field.is_relation]
        return {field.name: partial(_remove_forbidden_link, field.related_model) for field in keys}


def _remove_forbidden_link(model: type[Model], shown: SafeString) -> SafeString:
    if _may_follow(model):
        return shown
    return mark_safe(strip_tags(shown))  # escaped by unfold, and without tags


def _may_follow(model: type[Model]) -> bool:
    # Columns and read-only fields do not get the request.
    request = current_request.get()
    return request is not None and admin.site.is_registered(model) and may_view_list(request, model)
