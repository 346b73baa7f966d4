"""Links in posts: recognition, targets and shown texts."""

import pytest

from social.content.html import to_html
from social.content.tokens import tokenise


def links(text: str) -> list[tuple[str, str]]:
    """Return the targets and shown texts of the links in a text."""
    return [(token.value, token.shown) for token in tokenise(text, lambda name: False) if token.kind == "link"]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see https://example.com.", "https://example.com"),
        ("http://example.com/a?b=c#d!", "http://example.com/a?b=c#d"),
        ("(https://example.com/a_(b))", "https://example.com/a_(b)"),
        ("[https://example.com/a]", "https://example.com/a"),
        ("https://example.com:8080/x", "https://example.com:8080/x"),
        ("链接:https://example.com/a，好", "https://example.com/a"),
        ("看https://example.com很好", "https://example.com"),
        ("https://example.com/a\u3002", "https://example.com/a"),
        ("https://example.com/é?q=ü", "https://example.com/%C3%A9?q=%C3%BC"),
        ("https://example.com/%C3%A9", "https://example.com/%C3%A9"),
        ("<https://example.com/a>", "https://example.com/a"),
        ('"https://example.com/a"', "https://example.com/a"),
        ("HTTPS://Example.COM/A", "https://Example.COM/A"),
        ("https://example.com/a&b=<c", "https://example.com/a&b="),
        ("https://example.com\\@evil.example", "https://example.com"),
        ("https://example.com/x@y", "https://example.com/x@y"),
    ],
)
def test_a_link_leads_to_its_address(text: str, url: str) -> None:
    assert [href for href, _ in links(text)] == [url]


def test_www_is_enough_for_a_link() -> None:
    assert links("www.example.com/a") == [("https://www.example.com/a", "www.example.com/a")]


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "javascript://example.com/%0aalert(1)",
        "data:text/html,x",
        "ftp://example.com",
        "vbscript:x",
        "https://",
        "https:///evil.example",
        "https://localhost",
        "https://-.example",
        "https://bank.example@evil.example",
        "https://bank.example:443@evil.example/",
        "https://user:secret@example.com/",
        "https://bank.example:@evil.example",
        "xhttps://example.com",
        "example.com",
        "a@www.example.com",
        "www.",
        "https://exa\u0301\u0301mple\u200d.com",
    ],
)
def test_other_addresses_are_no_links(text: str) -> None:
    assert links(text) == []


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://раураl.com/", "xn--l-7sba6dbr.com"),
        ("https://аррӏе.com/", "xn--80ak6aa92e.com"),
        ("https://gοοgle.com/", "xn--ggle-0nda.com"),
        ("https://münchen.de/", "xn--mnchen-3ya.de"),
        ("https://ＰＡＹＰＡＬ.com/", "paypal.com"),
    ],
)
def test_ambiguous_hosts_are_shown_in_ascii(text: str, host: str) -> None:
    assert links(text) == [(f"https://{host}/", f"https://{host}/")]


def test_unambiguous_hosts_are_shown_as_written() -> None:
    assert links("https://例子.中国/a") == [("https://xn--fsqu00a.xn--fiqs8s/a", "https://例子.中国/a")]


def test_a_long_link_is_shortened_and_keeps_its_target() -> None:
    url = "https://example.com/" + "abcdefghij" * 20 + "/the-end.html"
    ((href, shown),) = links(url)
    assert href == url
    assert len(shown) < 60
    assert shown.startswith("https://example.com/abc")
    assert shown.endswith("the-end.html")
    assert "…" in shown


def test_the_host_of_a_long_link_is_complete() -> None:
    host = "bank.example." + "a." * 60 + "evil.example"
    ((_, shown),) = links(f"https://{host}/{'x' * 100}")
    assert f"https://{host}/" in shown


def test_links_are_marked_as_user_generated() -> None:
    assert to_html("https://a.example/?a=1&b=2") == (
        '<a href="https://a.example/?a=1&amp;b=2" rel="nofollow noopener ugc">https://a.example/?a=1&amp;b=2</a>'
    )


@pytest.mark.parametrize("text", ["https://a.example/" + ")" * 500_000, "www.a.example)" * 30_000])
def test_the_time_of_links_is_linear(text: str) -> None:
    # Quadratic time would be minutes.
    assert links(text)[0][1] in ("https://a.example/", "www.a.example")
