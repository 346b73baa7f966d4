"""An admin action that streams the selected rows as CSV."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools.base import AuditedAdmin
from accounts.audit.log import Kind, record_event
from common.csv import write_lines
from common.database import SLICE_SIZE


class Column(NamedTuple):
    """A column of a CSV file. lookup: the field. permission: only for staff with it, because the data is personal.

    load: instead of a field, returns the values of rows by id, for a slice of rows at a time.
    """

    name: str
    lookup: str = ""
    permission: str = ""
    load: Callable[[Sequence[int]], Mapping[int, object]] | None = None


class ExportAdmin(AuditedAdmin):
    """Base of lists that staff can download. All rows of the list may be selected, however many they are."""

    export_columns: ClassVar[Sequence[Column]]

    @admin.action(description=_("Download selected rows as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, rows: QuerySet[Any]) -> StreamingHttpResponse:
        columns = [one for one in self.export_columns if not one.permission or request.user.has_perm(one.permission)]
        name = f"{self.opts.model_name}s.csv"
        record_event(Kind.EXPORT, name, ", ".join(column.name for column in columns))
        lines = write_lines([column.name for column in columns], _read_rows(rows, columns))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def _read_rows(rows: QuerySet[Any], columns: Sequence[Column]) -> Iterator[Sequence[object]]:
    """Yield the values of all rows by slices, so that no transaction stays open while the response is sent."""
    ordered = rows.order_by("pk").values_list("pk", *(column.lookup or "pk" for column in columns))
    found = list(ordered[:SLICE_SIZE])
    while found:
        ids = [values[0] for values in found]
        loaded = [column.load(ids) if column.load else None for column in columns]
        for pk, *values in found:
            yield [value if each is None else each.get(pk, "") for value, each in zip(values, loaded, strict=True)]
        found = list(ordered.filter(pk__gt=ids[-1])[:SLICE_SIZE])
