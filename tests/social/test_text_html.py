"""A post's text as HTML, for any text."""

from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from social.content.cleaning import clean
from social.content.html import to_html
from social.content.tokens import tokenise

ALLOWED = {"a": {"href", "rel"}, "br": set()}


class Strict(HTMLParser):
    """A parser that accepts only the HTML of posts and refuses any other."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.hrefs: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= ALLOWED[tag]
        assert not self.open, "nothing stands inside a link"
        if tag == "br":
            self.text += "\n"
            return
        self.open.append(tag)
        self.hrefs.append(dict(attrs)["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def read(html: str) -> Strict:
    """Parse ``html`` completely. Return the parser."""
    page = Strict()
    page.feed(html)
    page.close()
    assert not page.open
    return page


PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "https://", "http://", "www.", "javascript:", "example.com", "/a?b=c", "@ken", "@ken thompson", "#tag", "#",
            "@", "<script>", "</a>", "<!--", "&amp;", "&lt", '"', "'", ">", "<", "\n", " ", "\\", "例子.中国", ".",
            "раураl.com", ":443", "(", ")", "[", "]", "onclick=", "＃", "＠", "x" * 70, "\u202e", "\u200d", "%", "]]>",
        ]
    ),
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join)
NAMES = ["ken", "Ken Thompson", "<b>", "x", "例子"]


@given(TEXTS)
def test_any_text_becomes_harmless_html_with_the_same_text(text: str) -> None:
    text = text.replace("\0", "").replace("\r", "")
    tokens = list(tokenise(text, {"ken", "ken thompson", "x", "例子"}.__contains__))
    page = read(to_html(text, NAMES))
    assert "".join(token.text for token in tokens) == text
    assert page.text == "".join(token.shown or token.text for token in tokens)
    for href in page.hrefs:
        assert href.startswith(("https://", "http://", "/u/", "/tags/"))
        assert href.isascii()
        assert not set(href) & set(' \n\t"<>\\`')
        assert "@" not in urlsplit(href).netloc


@given(TEXTS)
def test_html_of_a_clean_text_equals_it_unless_a_link_is_rewritten(text: str) -> None:
    try:
        text = clean(text)
    except ValidationError:
        return
    tokens = list(tokenise(text, lambda name: False))
    if all(token.shown in ("", token.text) for token in tokens):
        assert read(to_html(text)).text == text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        'https://example.com/"onmouseover=alert(1)',
        "https://example.com/'><script>",
        "#<script>",
        "@ken<script>",
        "&lt;script&gt;",
    ],
)
def test_markup_in_a_text_is_escaped(text: str) -> None:
    html = to_html(text, ["ken"])
    assert read(html).text == text
    assert "<script" not in html
    assert "<img" not in html


def test_line_breaks_are_kept() -> None:
    assert to_html("a\n\nb") == "a<br><br>b"
