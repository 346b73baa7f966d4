"""Read the HTML of a page."""

from collections.abc import Iterator
from html.parser import HTMLParser

DATA = "application/ld+json"  # a data block, which browsers do not execute and policies do not restrict


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: list[str] = []
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        is_data = dict(attrs).get("type") == DATA
        self._inside = tag if tag in ("script", "style") and not is_data else None

    def handle_data(self, data: str) -> None:
        if self._inside and data.strip():
            self.inline.append(f"<{self._inside}>{data}")

    def handle_endtag(self, tag: str) -> None:
        self._inside = None


def find_policy_violations(html: str) -> list[str]:
    """Return every inline script, style element, style attribute, event handler and foreign address in a page."""
    return list(_forbidden(html))


def _forbidden(html: str) -> Iterator[str]:
    page = _Collector()
    page.feed(html)
    yield from page.inline
    for tag, attributes in page.tags:
        if attributes.get("rel") == "canonical":  # names an address without fetching it
            continue
        for name, value in attributes.items():
            if name == "style" or name.startswith(("on", "hx-on")):
                yield f"<{tag} {name}={value!r}>"
            if (
                name in ("src", "href", "action")
                and value
                and value.startswith(("http:", "https:", "//", "javascript:"))
            ):
                yield f"<{tag} {name}={value!r}>"


def read_attributes(html: str, tag: str) -> dict[str, str | None]:
    """Return the attributes of the first element ``tag`` in a page."""
    page = _Collector()
    page.feed(html)
    return next(attributes for name, attributes in page.tags if name == tag)


def read_paths(html: str) -> set[str]:
    """Return the paths of this site in all attributes of a page with an address, beside those in JSON."""
    page = _Collector()
    page.feed(html)
    names = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-way")
    found = (attributes.get(name) or "" for _, attributes in page.tags for name in names)
    return {path for path in found if path.startswith("/")}
