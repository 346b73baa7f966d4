"""Cache fragments: the tag, the split of a page, and the protection against forged placeholders."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.middleware.csrf import _get_new_csrf_string, _mask_cipher_secret  # type: ignore[attr-defined]
from django.template import engines
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from jinja2 import DictLoader, Template, TemplateSyntaxError

from accounts.sessions import SessionStore
from mirror.relay.drains import drain_all
from shop.models import Product
from shop.pagecache import fragment_cache
from shop.pagecache.fragments import Fragment, PageSplit, SplitError, render_fragment, split_pages
from tests.support.shop.page_cache import Made, get_page, made, page_path, product

__all__ = ["made", "product"]
PLACEHOLDER = Fragment("a.html", "a", frozenset({"person"}))
OTHER = Fragment("a.html", "b", frozenset({"always"}))


def template(body: str) -> Template:
    environment = engines["jinja2"].env.overlay(loader=DictLoader({"test.html": body}))  # type: ignore[attr-defined]
    found: Template = environment.get_template("test.html")
    return found


def test_outside_of_the_cache_the_tag_renders_its_content() -> None:
    found = template('a{% placeholder "one" person %}{{ text }}{% endplaceholder %}c').render({"text": "<b>"})
    assert found == "a&lt;b&gt;c"


def test_a_page_is_split_and_keeps_the_anonymous_fragments() -> None:
    with split_pages() as cut:
        page = f"a{cut.mark(PLACEHOLDER, 'one')}b{cut.mark(OTHER, '')}c"
    assert cut.split(page) == ["a", "b", "c"]
    assert cut.placeholders == [(PLACEHOLDER, "one"), (OTHER, "")]


def test_a_nested_fragment_is_a_part_of_the_outer_one() -> None:
    nested = template(
        'a{% placeholder "one" person %}b{% placeholder "two" always %}c{% endplaceholder %}d{% endplaceholder %}e'
    )
    with split_pages() as cut:
        page = nested.render()
    assert cut.split(page) == ["a", "e"]
    assert cut.placeholders == [(Fragment("test.html", "one", frozenset({"person"})), "bcd")]


def test_live_fragments_are_not_rendered_with_the_page() -> None:
    with split_pages() as cut:
        page = template('a{% placeholder "one" reads %}{{ text }}{% endplaceholder %}').render({"text": "mine"})
    assert (cut.split(page), [fill for _, fill in cut.placeholders]) == (["a", ""], [""])


@pytest.mark.parametrize(
    "tag",
    ['"one"', "one person", '"one" nobody', '"o n" person', '"one" person nobody', "", '"One" person'],
)
def test_the_tag_requires_a_name_and_known_words(tag: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="takes a name"):
        template(f"{{% placeholder {tag} %}}{{% endplaceholder %}}")


def test_text_of_a_reader_is_no_placeholder() -> None:
    cut = PageSplit()
    forged = f"<!--{'0' * 32}:0--><!--{PageSplit().nonce}:0-->"
    page = f"{forged}a{cut.mark(PLACEHOLDER, '')}b{forged}"
    assert cut.split(page) == [f"{forged}a", f"b{forged}"]


@pytest.mark.parametrize("spoilt", ["{0}{0}", "", "{1}{0}", "{0}{1}{1}", "{0}{1} {nonce}"])
def test_a_page_with_damaged_placeholders_is_refused(spoilt: str) -> None:
    cut = PageSplit()
    marks = [cut.mark(PLACEHOLDER, ""), cut.mark(OTHER, "")]
    with pytest.raises(SplitError):
        cut.split(spoilt.format(*marks, nonce=cut.nonce))


def test_a_fragment_in_a_loop_is_refused() -> None:
    cut = PageSplit()
    page = str(cut.mark(PLACEHOLDER, "1")) + cut.mark(PLACEHOLDER, "2")
    with pytest.raises(SplitError, match="more than once"):
        cut.split(page)


def test_each_page_has_its_own_placeholders() -> None:
    assert PageSplit().nonce != PageSplit().nonce


@pytest.mark.parametrize("name", ["person", "messages", "looks", "theme", "scheme", "timeline"])
def test_the_base_template_has_these_fragments(name: str, rf: RequestFactory) -> None:
    http = rf.get("/")
    http.session = SessionStore()
    http.user = AnonymousUser()
    whole = render_to_string("base.html", request=http)
    assert render_fragment(Fragment("base.html", name, frozenset()), {"request": http}) in whole


def test_a_missing_fragment_is_an_error() -> None:
    with pytest.raises(SplitError):
        render_fragment(Fragment("base.html", "nothing", frozenset()), {})


@pytest.mark.django_db(transaction=True)
def test_a_title_like_a_placeholder_or_token_stays_a_title(product: Product, made: Made) -> None:
    """This also holds in a fragment that is cached with the positions of its tokens."""
    title = "<!--0:0--> {% csrf_token %} " + "a" * 64
    type(product.book).objects.filter(pk=product.pk).update(title=title)
    drain_all()
    pages = [get_page(Client(), page_path(product)) for _ in range(3)]
    for page in pages:
        assert "&lt;!--0:0--&gt; {% csrf_token %} " + "a" * 64 in page
    assert made.paths == [page_path(product)]


def test_only_tokens_of_the_secret_are_replaced() -> None:
    secret, other = _get_new_csrf_string(), _get_new_csrf_string()
    own = _mask_cipher_secret(secret)
    body = f'x{_mask_cipher_secret(other)} {"b" * 64} "{own}" {own}{"c" * 3} {"b" * 64}'
    before, _, after = body.partition(f'"{own}"')
    assert fragment_cache.split_at_tokens(body, secret) == [before + '"', '"' + after]
    assert fragment_cache.split_at_tokens(body, "") == [body]
