"""The forms of the admin as a browser would send them."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client

UNSENT = ("submit", "button", "image", "reset", "file")


class _FormReader(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.values: dict[str, list[str]] = {}
        self._is_inside = False
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._is_inside = given.get("id") == self.form_id
        name, value = given.get("name") or "", given.get("value") or ""
        kind = given.get("type", "text")
        is_box = kind in ("checkbox", "radio")
        if tag == "input" and name and kind not in UNSENT and "disabled" not in given:
            if not is_box or "checked" in given:
                self._add(name, value or ("on" if is_box else ""))
        elif tag == "select":
            self._select = "" if "disabled" in given else name
        elif tag == "option" and self._select and "selected" in given:
            self._add(self._select, value)
        elif tag == "textarea":
            self._textarea = name
            self._add(name, "")

    def handle_data(self, data: str) -> None:
        if self._textarea and self._is_inside:
            self.values[self._textarea][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            if self._textarea and self._is_inside:
                text = self.values[self._textarea][-1].removeprefix("\n")
                self.values[self._textarea][-1] = text.replace("\n", "\r\n")
            self._textarea = ""

    def _add(self, name: str, value: str) -> None:
        if self._is_inside:
            self.values.setdefault(name, []).append(value)


def read_form(html: str, form_id: str) -> dict[str, list[str]]:
    """Return the values that a browser would send from a form of a page without edits, by name."""
    reader = _FormReader(form_id)
    reader.feed(html)
    assert reader.values, f"The page has no form {form_id}"
    return reader.values


def page_of(row: Any) -> str:
    """Return the address of a row's edit page."""
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def save(staff: Client, row: Any, sent: dict[str, Any]) -> str:
    """Send a form, and return the text of the resulting page."""
    response = staff.post(page_of(row), sent, follow=True)
    assert response.status_code == 200
    row.refresh_from_db()
    return response.content.decode()
