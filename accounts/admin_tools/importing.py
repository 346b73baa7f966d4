"""A page that changes rows of SQL by a CSV file: first a dry run, then the changes, all or none."""

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.contrib import messages
from django.contrib.admin.models import ADDITION
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.changes import EMPTY, MAX_VALUE
from accounts.audit.log import log_each_change
from common.csv import MAX_ROWS, RowEdit, Table
from common.database import repeat_after_conflict
from common.refusals import Refused
from common.web import accept_files, redirect_to

MAX_SHOWN: Final = 200  # changes, and errors, on the page


class ImportAdmin(AuditedAdmin):
    """Base of lists that staff change by a file with the columns of the download.

    import_columns: the columns that change something. import_hint: what staff should know about cells.
    """

    list_before_template = "admin/import_link.html"
    import_title: ClassVar[Any]
    import_hint: ClassVar[Any]
    import_columns: ClassVar[Sequence[str]]
    max_import_bytes: ClassVar[int] = 500_000

    def read_table(self, request: HttpRequest, content: bytes) -> Table[Any]:
        """Compare a file with SQL."""
        raise NotImplementedError

    def apply_edits(self, edits: Sequence[RowEdit[Any]]) -> Sequence[Model]:
        """Make all changes or none, and return the new rows. Raises Refused."""
        raise NotImplementedError

    def may_import(self, request: HttpRequest) -> bool:
        """Return whether the user may use the page."""
        return bool(self.has_change_permission(request))

    def get_import_label(self, field: str) -> str:
        """Return the name of a field in the list of changes."""
        return str(self.opts.get_field(field).verbose_name)

    def format_import_value(self, field: str, value: Any) -> str:
        """Return a value as the list of changes shows it."""
        return EMPTY if value in (None, "") else Truncator(str(value)).chars(MAX_VALUE)

    def get_urls(self) -> list[Any]:
        view = accept_files(self.max_import_bytes)(self.admin_site.admin_view(self.import_rows))
        return [path("import/", view, name=self._import_name), *super().get_urls()]

    @property
    def _import_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_import"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list, with a link to the page of the import."""
        address = reverse(f"admin:{self._import_name}") if self.may_import(request) else ""
        return super().changelist_view(request, {**(extra_context or {}), "import_address": address})

    def import_rows(self, request: HttpRequest) -> HttpResponse:
        """Show the form. POST ``file``: show what it would change. POST ``content``: change it."""
        if not self.may_import(request):
            raise PermissionDenied
        if request.method != "POST":
            return self._render(request)
        content = self._read_content(request)
        if not content:
            text = _("Choose a CSV file of up to %(size)d kB.") % {"size": self.max_import_bytes // 1000}
            self.message_user(request, text, messages.WARNING)
            return self._render(request)
        table = self.read_table(request, content)
        if table.errors or "content" not in request.POST:
            return self._render(request, table, content)
        # The file alone does not tell what staff saw: copies may have been sold since, or a colleague changed the row.
        if request.POST.get("seen") != _digest(table.edits):
            name = capfirst(self.opts.verbose_name_plural)
            text = _("%(name)s have changed since the file was checked. Check the changes again.") % {"name": name}
            self.message_user(request, text, messages.WARNING)
            return self._render(request, table, content)
        try:
            self._apply(request, table.edits)
        except Refused as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._render(request, table, content)
        for text in self._count(table.edits):
            self.message_user(request, text, messages.SUCCESS)
        return redirect_to(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))

    @repeat_after_conflict
    def _apply(self, request: HttpRequest, edits: Sequence[RowEdit[Any]]) -> None:
        changed = [(edit.row, ", ".join(self._describe(edit))) for edit in edits if not edit.is_new]
        with transaction.atomic():
            new = self.apply_edits(edits)
            log_each_change(request, changed)
            log_each_change(request, [(row, _("Imported from a file.")) for row in new], ADDITION)

    def _render(self, request: HttpRequest, table: Table[Any] | None = None, content: bytes = b"") -> HttpResponse:
        edits = table.edits if table else []
        context = {
            **self.admin_site.each_context(request),
            "title": self.import_title,
            "hint": self.import_hint,
            "opts": self.opts,
            "table": table,
            "new_count": sum(edit.is_new for edit in edits),
            "changed_count": sum(not edit.is_new for edit in edits),
            "edits": [(edit, self._describe(edit)) for edit in edits[:MAX_SHOWN]],
            "errors": table.errors[:MAX_SHOWN] if table else [],
            "content": b64encode(content).decode() if table and edits and not table.errors else "",
            "seen": _digest(edits),
            "columns": ", ".join(self.import_columns),
            "max_rows": MAX_ROWS,
        }
        return TemplateResponse(request, "admin/import.html", context)

    def _read_content(self, request: HttpRequest) -> bytes:
        """Return the content of the file, or of the page that showed the dry run; b"" if there is none."""
        if "content" in request.POST:
            try:
                return b64decode(request.POST["content"], validate=True)
            except (binascii.Error, ValueError):
                return b""
        file = request.FILES.get("file")
        # The content of a larger file was not kept.
        return file.read() if file is not None and file.size and file.size <= self.max_import_bytes else b""

    def _describe(self, edit: RowEdit[Any]) -> list[str]:
        """Return "label: old → new" for each changed field, and "label: new" for those of a new row."""
        lines = []
        for field, pair in edit.changes.items():
            old, new = (self.format_import_value(field, value) for value in pair)
            lines.append(f"{self.get_import_label(field)}: {new if edit.is_new else f'{old} → {new}'}")
        return lines

    def _count(self, edits: Sequence[RowEdit[Any]]) -> list[str]:
        """Return what was done: the numbers of changed and of new rows."""
        names = {"name": self.opts.verbose_name, "names": self.opts.verbose_name_plural}
        new = sum(edit.is_new for edit in edits)
        changed = len(edits) - new
        texts = []
        if changed:
            text = ngettext("%(n)d %(name)s was changed.", "%(n)d %(names)s were changed.", changed)
            texts.append(text % {"n": changed, **names})
        if new:
            text = ngettext("%(n)d %(name)s was added.", "%(n)d %(names)s were added.", new)
            texts.append(text % {"n": new, **names})
        return texts


def _digest(edits: Sequence[RowEdit[Any]]) -> str:
    """Return a digest of the changes that the page shows."""
    shown = [(edit.row.pk, sorted(edit.changes.items())) for edit in edits]
    return hashlib.sha256(repr(shown).encode()).hexdigest()
