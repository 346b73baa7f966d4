"""The page that changes prices, stock and weights by a CSV file: first a dry run, then the changes."""

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin

from accounts.audit.log import log_each_change
from common.refusals import Refused
from common.web import accept_files, redirect_to
from shop.models import Product
from shop.money import format_money
from shop.products.table import COLUMNS, KEY, MAX_ROWS, ProductTable, read_product_table
from shop.services.products import ProductEdit, apply_edits

MAX_BYTES: Final = 500_000
MAX_SHOWN: Final = 200  # changes, and errors, on the page


class ProductImportAdmin(ModelAdmin):
    """Base of the admin of products."""

    list_before_template = "shop/admin/import_link.html"

    def get_urls(self) -> list[Any]:
        view = accept_files(MAX_BYTES)(self.admin_site.admin_view(self.import_products))
        return [path("import/", view, name="shop_product_import"), *super().get_urls()]

    def import_products(self, request: HttpRequest) -> HttpResponse:
        """Show the form. POST ``file``: show what it would change. POST ``content``: change it."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return self._render(request)
        content = _read_content(request)
        if not content:
            text = _("Choose a CSV file of up to %(size)d kB.") % {"size": MAX_BYTES // 1000}
            self.message_user(request, text, messages.WARNING)
            return self._render(request)
        table = read_product_table(content)
        if table.errors or "content" not in request.POST:
            return self._render(request, table, content)
        # The file alone does not tell what staff saw: copies may have been sold since, or a colleague changed the row.
        if request.POST.get("seen") != _digest(table.edits):
            text = _("Products have changed since the file was checked. Check the changes again.")
            self.message_user(request, text, messages.WARNING)
            return self._render(request, table, content)
        try:
            apply_edits(table.edits)
        except Refused as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._render(request, table, content)
        log_each_change(request, [(edit.product, ", ".join(_describe(edit))) for edit in table.edits])
        count = len(table.edits)
        text = ngettext("%(n)d product was changed.", "%(n)d products were changed.", count) % {"n": count}
        self.message_user(request, text, messages.SUCCESS)
        return redirect_to(reverse("admin:shop_product_changelist"))

    def _render(self, request: HttpRequest, table: ProductTable | None = None, content: bytes = b"") -> HttpResponse:
        edits = table.edits if table else []
        context = {
            **self.admin_site.each_context(request),
            "title": _("Import products"),
            "opts": self.opts,
            "table": table,
            "edits": [(edit.product, _describe(edit)) for edit in edits[:MAX_SHOWN]],
            "errors": table.errors[:MAX_SHOWN] if table else [],
            "content": b64encode(content).decode() if table and edits and not table.errors else "",
            "seen": _digest(edits),
            "columns": ", ".join([KEY, *COLUMNS]),
            "max_rows": MAX_ROWS,
        }
        return TemplateResponse(request, "shop/admin/product_import.html", context)


def _read_content(request: HttpRequest) -> bytes:
    """Return the content of the file, or of the page that showed the dry run; b"" if there is none."""
    if "content" in request.POST:
        try:
            return b64decode(request.POST["content"], validate=True)
        except (binascii.Error, ValueError):
            return b""
    file = request.FILES.get("file")
    # The content of a larger file was not kept.
    return file.read() if file is not None and file.size and file.size <= MAX_BYTES else b""


def _digest(edits: Sequence[ProductEdit]) -> str:
    """Return a digest of the changes that the page shows."""
    shown = [(edit.product.pk, sorted(edit.changes.items())) for edit in edits]
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def _describe(edit: ProductEdit) -> list[str]:
    """Return "label: old → new" for each changed field."""
    lines = []
    for field, pair in edit.changes.items():
        old, new = map(format_money, pair) if field == "price" else map(str, pair)
        column: Any = Product._meta.get_field(field)
        lines.append(f"{column.verbose_name}: {old} → {new}")
    return lines
