"""The Markdown of reviews: what it renders, what it refuses, and its time."""

import time

import pytest
from django.core.exceptions import ValidationError

from social.content.cleaning import MAX_CHARACTERS, OF_REVIEWS, clean, count_characters, shorten
from social.reviews.markdown import MAX_NESTING, is_too_nested, render_markdown, strip_markdown
from tests.support.site.html import find_policy_violations

LINK = '<a href="{}" rel="nofollow noopener ugc">'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\n\ntwo", "<p>One</p>\n<p>two</p>\n"),
        ("One\ntwo", "<p>One<br>\ntwo</p>\n"),
        ("*a* **b**", "<p><em>a</em> <strong>b</strong></p>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
        ("> so it goes", "<blockquote>\n<p>so it goes</p>\n</blockquote>\n"),
        (r"\*not\*", "<p>*not*</p>\n"),
        ("#emma", '<p><a href="/tags/emma/">#emma</a></p>\n'),
    ],
)
def test_marks_become_html(text: str, html: str) -> None:
    assert render_markdown(text) == html


def test_only_mentioned_readers_are_links() -> None:
    assert render_markdown("*@ken* and @kim", ("ken",)) == '<p><em><a href="/u/ken/">@ken</a></em> and @kim</p>\n'


def test_a_link_shows_where_it_leads() -> None:
    html = render_markdown("[my bank](https://evil.example/a?b&c)")
    assert LINK.format("https://evil.example/a?b&amp;c") + "my bank</a>" in html
    assert "(evil.example)" in html
    assert html.count("<a ") == 1
    assert render_markdown("[https://bank.example](https://evil.example/)").count("<a ") == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://a.example/x.png)",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&colon;alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](//evil.example)",
        "[x](/accounts/logout/)",
        "[x](https://user@evil.example/)",
        "[x](https:///path)",
        "[x](https://[::1)",
        "[x](vbscript:x)",
        "<https://a.example>",
        "# heading",
        "```\ncode\n```",
        "`code`",
        "---",
        "&lt;script&gt;",
        "||<b>x</b>||",
        '[x](https://a.example/"onmouseover="alert(1))',
        "[x]: https://a.example\n\n[x]",
        "\x00<b>",
    ],
)
def test_hostile_text_stays_text(text: str) -> None:
    html = render_markdown(text)
    # Addresses of the web may be links, here as in posts.
    assert [one for one in find_policy_violations(html) if not one.startswith("<a href='https://a.example")] == []
    for tag in ("<script", "<img", "<h1", "<code", "<pre", "<hr", "<b>", 'onmouseover="'):
        assert tag not in html
    for address in ("javascript:", "data:", "vbscript:", '"/', "user@"):
        assert f'href="{address}' not in html.lower()


def test_a_spoiler_is_behind_a_check_box() -> None:
    html = render_markdown("It was ||the *butler*||, or ||the cook||.")
    assert html.count('<label class="spoiler"><input type="checkbox"') == 2
    assert '<span class="spoiler-text"> the <em>butler</em></span>' in html
    # A check box must not stand in a link, and bars without a pair are text.
    assert "checkbox" not in render_markdown("[||x||](https://a.example/)")
    for text in ("a || b", "|| ||", "||||", "||x|", "|x|"):
        assert "checkbox" not in render_markdown(text)


def test_an_excerpt_has_no_marks_and_no_spoilers() -> None:
    text = "> *A* [fine](https://a.example) book:\n\n- ||the butler||\n- **read**\nit"
    assert strip_markdown(text) == "A fine book:\n• […]\n• read\nit"


@pytest.mark.parametrize("word", ["word ", "無", "👩‍👩‍👧‍👦", "a" + "\u0301" * 5])
def test_an_excerpt_has_the_length_of_a_post(word: str) -> None:
    short = shorten(clean(word * 2000, OF_REVIEWS))
    assert clean(short) == short
    assert MAX_CHARACTERS - 5 <= count_characters(short) <= MAX_CHARACTERS
    assert short.endswith("…")
    assert shorten("A fine book") == "A fine book"


def test_a_review_has_at_most_20000_characters() -> None:
    assert len(clean("x" * 20_000, OF_REVIEWS)) == 20_000
    with pytest.raises(ValidationError, match="remove 1"):
        clean("x" * 20_001, OF_REVIEWS)


@pytest.mark.parametrize(
    "part",
    ["[", "*", "_a", "**a", ">", "> ", "- ", "||a", "||", "||a||", "[](", "[a](https://a.example/", "![", "\\", "*a_",
     "1. ", "<", "&", "#a ", "https://a.", "[||", "||[a](b)||", "|", "](", "* a\n", "\n> ", "@a "],
)  # fmt: skip
def test_no_text_takes_long(part: str) -> None:
    text = (part * 20_000)[:20_000]
    began_at = time.process_time()
    html = render_markdown(text)
    strip_markdown(text)
    assert time.process_time() - began_at < 3
    assert len(html) < 3_000_000


def test_a_spoiler_of_several_paragraphs_hides_all_of_them() -> None:
    text = "Before ||the butler\n\ndid it||, or a || b.\n\nAnd ||not me|| c || d"
    html = render_markdown(text)
    assert html.count('class="spoiler-text"') == 3
    assert strip_markdown(text) == "Before […]\n[…], or a || b.\nAnd […] c || d"
    assert strip_markdown(text, with_spoilers=True) == "Before the butler\ndid it, or a || b.\nAnd not me c || d"


@pytest.mark.parametrize(
    "text",
    ["- b ||x\n- y|| c", "b\n\n1. ||x\n2. y||\n\nc", "> b ||x\n> - y|| c", "b ||x\n> y|| c", "b ||x\n\n\n- y\n- z|| c"],
)
def test_a_spoiler_across_items_and_quotes_hides_all_of_them(text: str) -> None:
    shown = strip_markdown(text).replace("•", "").split()
    assert shown in (["b", *["[…]"] * n, "c"] for n in (2, 3))
    assert strip_markdown("- ||", with_spoilers=True) == "• ||"


def test_no_words_are_lost_in_nested_blocks() -> None:
    for mark, levels in (("> ", MAX_NESTING), ("- ", MAX_NESTING // 2)):
        lost = None
        for depth in range(levels + 3):
            text = f"{mark * depth}word"
            if "word" not in render_markdown(text):
                lost = depth
                assert is_too_nested(text)
        assert lost is not None
        assert not is_too_nested(f"{mark * (levels - 2)}word")
