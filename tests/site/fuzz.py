"""Generate requests that no browser sends.

Field names come from the forms of all pages and from the parameters that views read; cookie names come from reads too.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple
from unittest import mock
from urllib.parse import quote, quote_from_bytes, urlsplit

from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict, parse_cookie
from hypothesis import strategies as st

from tests.support.matrix.addresses import Address
from tests.support.matrix.browser import HTML, JSON, Browser

NASTY: Final[tuple[bytes, ...]] = tuple(
    value if isinstance(value, bytes) else value.encode()
    for value in (
        *("", " ", "\t\r\n", "\0", "a\0b", "\x1b[2J", "\u202egnol", "\u200b", "\ufffe", "e" + "\u0301" * 3000),
        *(b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"%ff%00", "\U0001f469\u200d\U0001f469" * 40),
        *("0", "-1", "+1", " 1 ", "1_0", "01", "1.5", "1e999", "NaN", "-Infinity", "0x10", "\u0663", "\u00b2"),
        "\u2460",
        *("9" * 19, "-" + "9" * 19, "9" * 400, "9" * 5000, str(2**31), str(2**63), str(2**64), "true", "null"),
        *("0001-01-01", "9999-12-31", "10000-01-01", "2026-02-30", "2026-W53-1", "0000-00-00", "2026-11-22T25:61"),
        *("[]", "{}", "[[[[1]]]]", '{"a": {"b": []}}', '"', "'", "' OR 1=1 --", "<script>", "{{ 7 }}", "%s%n", "${x}"),
        *("../../etc/passwd", "/admin/", "//evil.example", "http:///x", "http://[::1", "javascript:x", "\\"),
        *("a" * 20_000, "(" * 3000, "a & " * 500 + "b", "!" * 2000, "a:b:c", "eyJ4Ijp9:1x:y", "MQ", "a=b; c=d"),
        "\u0130" * 200,
    )
)
TYPES: Final = (JSON, "text/plain", "application/xml", "multipart/form-data; boundary=x", "x; charset=utf-7", "/")


class Form(NamedTuple):
    """A form that can be sent: its sender, method, path and fields."""

    person: str
    method: str
    path: str
    fields: Mapping[str, str]


class _Forms(HTMLParser):
    """Collect the forms of a page with their initial values."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("method", "get").upper(), given.get("action", ""), {}))
        elif self.forms and tag in ("input", "select", "textarea", "button") and given.get("name"):
            self.forms[-1][2].setdefault(given["name"], given.get("value", ""))


@contextmanager
def asked() -> Iterator[tuple[set[str], set[str]]]:
    """Collect the parameters and the cookies that views look up during the block, by name."""
    parameters, cookies = set[str](), set[str]()

    def noting(owner: Any, reader: str, names: set[str]) -> Callable[..., Any]:
        read = getattr(owner, reader)

        def noted(self: Any, name: str, *rest: Any) -> Any:
            names.add(name)
            return read(self, name, *rest)

        return noted

    readers = ("get", "__getitem__", "__contains__")
    noting_dict = type("NotingDict", (dict,), {reader: noting(dict, reader, cookies) for reader in readers})

    def read_cookies(request: WSGIRequest) -> dict[str, str]:
        given = parse_cookie(request.META.get("HTTP_COOKIE", ""))
        return request.__dict__.setdefault("_noting", noting_dict(given))

    with ExitStack() as stack:
        for reader in (*readers, "getlist"):
            stack.enter_context(mock.patch.object(QueryDict, reader, noting(QueryDict, reader, parameters)))
        stack.enter_context(mock.patch.object(WSGIRequest, "COOKIES", property(read_cookies)))
        yield parameters, cookies


def find_forms(people: Mapping[str, Browser], pages: list[Address]) -> tuple[list[Form], list[str]]:
    """Return the forms that each person can send, and the names of all cookies that views read."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    with asked() as (names, cookies):
        for name, browser in people.items():
            for page in pages:
                for method in ("GET", "POST"):
                    names.clear()
                    response = browser.ask(method, page.path)
                    if response.status_code == 405:
                        continue
                    fields = found.setdefault((name, method, page.path), {})
                    fields.update({field: fields.get(field, "") for field in sorted(names)})
                    for how, action, shown in _forms_of(response):
                        path = urlsplit(action).path or page.path
                        found.setdefault((name, how, path), {}).update(shown)
    return [Form(*key, fields) for key, fields in sorted(found.items(), key=repr)], sorted(cookies)


def _forms_of(response: Any) -> list[tuple[str, str, dict[str, str]]]:
    if response.streaming or not response.headers.get("Content-Type", "").startswith(HTML):
        return []
    parser = _Forms()
    parser.feed(response.content.decode())
    return parser.forms


values = st.one_of(
    st.sampled_from(NASTY),
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda text: text.encode(errors="surrogatepass")),
)
documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=10,
)


@st.composite
def requests(draw: st.DrawFn, forms: list[Form], cookies: list[str]) -> tuple[Form, dict[str, Any]]:
    """Draw a request: a form with some changed fields, or with a changed path, content type, body or cookie."""
    form = draw(st.sampled_from(forms))
    path = draw(_paths(form.path)) if draw(st.integers(0, 4)) == 0 else form.path
    pairs = [(name, value.encode()) for name, value in form.fields.items()]
    for name in draw(st.lists(st.sampled_from(sorted(form.fields) or ["x"]), max_size=3)):
        kept = pairs if draw(st.booleans()) else [pair for pair in pairs if pair[0] != name]  # add or replace
        pairs = [*kept, (name, draw(values))]
    query = "&".join(f"{quote(name)}={quote_from_bytes(value)}" for name, value in pairs)
    more: dict[str, Any] = {"headers": {"accept": draw(st.sampled_from((HTML, JSON)))}}
    if draw(st.integers(0, 5)) == 0:
        more["headers"]["hx-request"] = "true"
    if cookies and draw(st.integers(0, 3)) == 0:
        more["cookie"] = (draw(st.sampled_from(cookies)), draw(values).decode("latin-1"))
    if form.method == "GET":
        return form._replace(path=path), more | {"QUERY_STRING": query}
    body, kind = query.encode(), "application/x-www-form-urlencoded"
    match draw(st.integers(0, 5)):
        case 0:
            fields = {name: draw(documents) for name in form.fields}
            body, kind = json.dumps(draw(st.one_of(st.just(fields), documents))).encode(), JSON
        case 1:
            body, kind = draw(values), draw(st.sampled_from(TYPES))
    return form._replace(path=path), more | {"data": body, "content_type": kind}


@st.composite
def _paths(draw: st.DrawFn, path: str) -> str:
    """Draw a path in which one part is replaced."""
    parts = path.split("/")
    parts[draw(st.integers(1, len(parts) - 1))] = quote_from_bytes(draw(values)[:2000], safe="")
    return "/".join(parts)


def send(browser: Browser, form: Form, more: dict[str, Any]) -> Any:
    """Send a drawn request and roll its writes back."""
    more = dict(more)
    if "cookie" in more:
        name, value = more.pop("cookie")
        kept = [f"{key}={morsel.value}" for key, morsel in browser.cookies.items() if key != name]
        more["HTTP_COOKIE"] = "; ".join([*kept, f"{name}={value}"])
    return browser.send(form.method, form.path, **more)
