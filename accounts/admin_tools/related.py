"""Links from the page of a row in the admin to the rows that belong to it, also those of other applications.

The page knows none of these applications. Each registers its links in its admin module.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.links import may_view_list
from mirror.admin import count_rows


class RelatedRows(NamedTuple):
    """A link on the page of a row, for staff who may view the list of ``model``.

    build_address: returns the address for the row. read_value: returns the text or number of the link, or None if the
    row has no such link.
    """

    label: Any
    model: type[Model]
    build_address: Callable[[Any], str]
    read_value: Callable[[Any], Any]


class RelatedLink(NamedTuple):
    """A link as the page shows it."""

    label: Any
    value: Any
    address: str


_registered: Final[dict[type[Model], list[RelatedRows]]] = defaultdict(list)


def register_related_rows(owner: type[Model], *related: RelatedRows) -> None:
    """Add links to the pages of ``owner``'s rows. Their admin derives from ``RelatedRowsAdmin``."""
    _registered[owner].extend(related)


def count_related(label: Any, find: Callable[[Any], QuerySet[Any]], lookup: str) -> RelatedRows:
    """Return a link to the rows that ``find`` returns, with their number. lookup: the filter of their list."""
    model = find(0).model
    return RelatedRows(
        label,
        model,
        lambda row: link_to_list(model, **{lookup: row.pk}),
        lambda row: count_rows(find(row.pk)),
    )


def link_to_list(model: type[Model], **query: Any) -> str:
    """Return the address of a model's list with these parameters."""
    path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{path}?{urlencode(query)}" if query else path


class RelatedRowsAdmin(AuditedAdmin):
    """Base of pages with links to the rows that belong to their row."""

    change_form_outer_before_template = "admin/related_rows.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            context["related_rows"] = list(_find_links(request, obj))
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)


def _find_links(request: HttpRequest, row: Model) -> Iterator[RelatedLink]:
    for related in _registered[type(row)]:
        if not may_view_list(request, related.model):
            continue
        value = related.read_value(row)
        if value is not None:
            yield RelatedLink(related.label, value, related.build_address(row))
