"""Draw an invoice or a credit note as PDF, from its frozen content: the same bytes each time."""

import unicodedata
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext as translated
from django.utils.translation import override, pgettext
from fpdf import FPDF
from fpdf.enums import TableBordersLayout, XPos, YPos
from fpdf.fonts import FontFace

from shop.invoices.models import Invoice, InvoiceKind
from shop.money import format_money_of

# Inter has Latin, Greek and Cyrillic letters. The other font, for Chinese, Japanese and Korean, is loaded only for
# texts that need it, because that takes some tenths of a second. Neither is compressed, which would take seconds.
FONTS: Final = Path(__file__).parent / "fonts"
LAST_OF_INTER: Final = "\u2e7f"  # later characters are those of the other font
SIZE, SMALL, LARGE = 10, 8, 16
WIDTHS: Final = (96, 18, 18, 38)  # of the columns, in millimetres
WIDTHS_WITH_PRICE: Final = (74, 18, 28, 16, 34)


def draw_invoice(invoice: Invoice) -> bytes:
    """Return the PDF of a document, in the language of its order."""
    with override(invoice.content["language"]):
        return _Page(invoice).draw()


class _Document(FPDF):
    """A PDF that shows letters without a glyph as question marks; the library would leave them out."""

    def normalize_text(self, text: str) -> str:
        """Return a text with characters of the loaded fonts only."""
        return "".join(map(self._replace_unknown, super().normalize_text(text)))

    def _replace_unknown(self, char: str) -> str:
        if char.isspace() or any(ord(char) in getattr(font, "cmap", ()) for font in self.fonts.values()):
            return char
        # Accents and marks of the direction: the letter before them stands for both.
        return "" if unicodedata.category(char)[0] in "CM" else "?"


class _Page:
    def __init__(self, invoice: Invoice) -> None:
        self.invoice, self.content = invoice, invoice.content
        self.pdf = _Document(format="A4")
        self.pdf.set_margins(20, 20)
        self.pdf.set_creation_date(invoice.issued_at.astimezone(UTC))
        for style, name in (("", "Regular"), ("B", "SemiBold")):
            self.pdf.add_font("Inter", style, FONTS / f"Inter-{name}.ttf")
        if any(char > LAST_OF_INTER for char in str(self.content) + _("invoice")):
            self.pdf.add_font("Fallback", "", FONTS / "DroidSansFallback.ttf")
            # It has no bold letters.
            self.pdf.set_fallback_fonts(["Fallback"], exact_match=False)
        self.pdf.set_font("Inter", size=SIZE)

    def draw(self) -> bytes:
        """Return the document."""
        self.pdf.set_title(self.invoice.number)
        self.pdf.add_page()
        self._write_seller()
        buyer = self.content["buyer"]
        self._write_lines(buyer["name"], *buyer["address"].splitlines())
        self.pdf.ln(10)
        is_invoice = self.invoice.kind == InvoiceKind.INVOICE
        title = _("Invoice %(number)s") if is_invoice else _("Credit note %(number)s")
        self.pdf.set_font("Inter", "B", LARGE)
        self._write_lines(title % {"number": self.invoice.number}, height=9)
        self.pdf.set_font("Inter", "", SIZE)
        self._write_lines(*self._list_facts())
        self.pdf.ln(6)
        self._draw_items()
        self._draw_vat()
        return bytes(self.pdf.output())

    def _write_seller(self) -> None:
        seller = self.content["seller"]
        if not seller:
            return
        vat_id = _("VAT ID: %(id)s") % {"id": seller["vat_id"]} if seller["vat_id"] else ""
        self.pdf.set_font("Inter", "", SMALL)
        for parts in (
            [seller["name"], *seller["address"]],
            [seller["email"], seller["phone"], seller["register"], vat_id],
        ):
            self._write_lines(" · ".join(filter(None, parts)), height=4)
        self.pdf.set_font("Inter", "", SIZE)
        self.pdf.ln(12)

    def _list_facts(self) -> list[str]:
        content = self.content
        ordered = {"number": self.invoice.order_id, "day": _format_day(content["ordered"])}
        facts = [
            _("Date: %(day)s") % {"day": _format_day(content["issued"])},
            _("Order %(number)s of %(day)s") % ordered,
        ]
        if content.get("corrects"):
            facts.append(_("Corrects invoice %(number)s") % {"number": content["corrects"]})
        if content.get("reason"):
            facts.append(_("Reason: %(reason)s") % {"reason": translated(content["reason"])})
        if "paid" in content:
            paid = content["paid"]
            facts.append(_("Paid on %(day)s") % {"day": _format_day(paid)} if paid else _("Not paid"))
        if content.get("delivery"):
            facts.append(_describe_delivery(*content["delivery"]))
        return facts

    def _draw_items(self) -> None:
        # Credit notes and older invoices have no prices of single copies.
        has_prices = any("price" in item for item in self.content["items"])
        rows: list[tuple[str, ...]] = [(_("Description"), _("Quantity"), _("Price"), _("VAT"), _("Total"))]
        for item in self.content["items"]:
            rate = "–" if item["vat_rate"] is None else f"{item['vat_rate']}%"
            count = str(item["quantity"]) if item["quantity"] else ""
            price = self._money(item["price"]) if "price" in item else ""
            rows.append((self._describe(item), count, price, rate, self._money(item["total"])))
        rows.append((_("Total"), "", "", "", self._money(self.invoice.total)))
        if has_prices:
            self._draw_table(rows, WIDTHS_WITH_PRICE, is_last_bold=True)
        else:
            self._draw_table([(*row[:2], *row[3:]) for row in rows], WIDTHS, is_last_bold=True)

    def _describe(self, item: dict[str, Any]) -> str:
        if not item["title"]:
            return _("Delivery")
        return str(item["title"]) if item["quantity"] else _("Lower price: %(title)s") % {"title": item["title"]}

    def _draw_vat(self) -> None:
        """Draw the net amount and the VAT of each rate, if the shop charged any."""
        if not self.content["rates"]:
            return
        self.pdf.ln(6)
        rows: list[tuple[str, ...]] = [(_("Rate of VAT"), _("Net"), _("VAT"), _("Total"))]
        for part in self.content["rates"]:
            net = part["total"] - part["vat"]
            rows.append((f"{part['rate']}%", *(self._money(cents) for cents in (net, part["vat"], part["total"]))))
        self._draw_table(rows, (56, 38, 38, 38))

    def _draw_table(self, rows: list[tuple[str, ...]], widths: tuple[int, ...], *, is_last_bold: bool = False) -> None:
        align = ("LEFT", *["RIGHT"] * (len(widths) - 1))
        bold = FontFace(emphasis="BOLD")
        with self.pdf.table(
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            col_widths=widths,
            headings_style=bold,
            line_height=6,
            text_align=align,
        ) as table:
            for row in rows[: len(rows) - is_last_bold]:
                table.row(row)
            if is_last_bold:
                table.row(rows[-1], style=bold)

    def _money(self, cents: int) -> str:
        return format_money_of(cents, self.invoice.currency)

    def _write_lines(self, *lines: str, height: float = 5) -> None:
        for line in filter(None, lines):
            self.pdf.multi_cell(0, height, line, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _describe_delivery(first: str, last: str) -> str:
    if first == last:
        return _("Delivery: %(day)s") % {"day": _format_day(first)}
    return _("Delivery: %(first)s to %(last)s") % {"first": _format_day(first), "last": _format_day(last)}


def _format_day(text: str) -> str:
    # Not the format of pages: a document must not change with it.
    return date_format(parse_date(text), pgettext("format of a day on an invoice", "M j, Y"))  # type: ignore[arg-type]
