"""An admin action that streams the selected rows as CSV."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools.base import AuditedAdmin
from accounts.audit.log import Kind, record_event
from common.csv_lines import write_lines
from common.database import SLICE_SIZE


class Column(NamedTuple):
    """A column of a CSV file. lookup: the field. permission: only for staff with it, because the data is personal."""

    name: str
    lookup: str
    permission: str = ""


class ExportAdmin(AuditedAdmin):
    """Base of lists that staff can download. All rows of the list may be selected, however many they are."""

    export_columns: ClassVar[Sequence[Column]]

    @admin.action(description=_("Download selected rows as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, rows: QuerySet[Any]) -> StreamingHttpResponse:
        columns = [one for one in self.export_columns if not one.permission or request.user.has_perm(one.permission)]
        name = f"{self.opts.model_name}s.csv"
        record_event(Kind.EXPORT, name, ", ".join(column.name for column in columns))
        lines = write_lines([column.name for column in columns], _read_rows(rows, [one.lookup for one in columns]))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def _read_rows(rows: QuerySet[Any], lookups: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield the values of all rows by slices, so that no transaction stays open while the response is sent."""
    ordered = rows.order_by("pk").values_list("pk", *lookups)
    found = list(ordered[:SLICE_SIZE])
    while found:
        yield from (values[1:] for values in found)
        found = list(ordered.filter(pk__gt=found[-1][0])[:SLICE_SIZE])
