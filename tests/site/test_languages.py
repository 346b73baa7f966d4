"""Every page is fully translated, and each response names its language."""

import re
from datetime import UTC, datetime, timedelta

import polib
import pytest
from django.conf import settings
from django.template import engines
from django.test import Client
from django.utils import translation
from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.timesince import timesince
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book, Tag
from common.spacing import close_gaps, colon, comma, gap
from shop.money import format_money
from tests.support.site.html import read_attributes
from tests.support.warm_mirrors import rebuild
from tools import messages

pytestmark = pytest.mark.django_db

# For each page: pairs of its English and its Chinese text.
PAGES = {
    "/": [
        ("Find your next book", "遇见下一本好书"),
        ("Log in", "登录"),
        ("Skip to content", "跳到正文"),
        (": fantasy + young adult", "试试：奇幻 + 青少年"),
    ],
    "/books/": [("1 book</h2>", "1 本书</h2>"), ("Most read", "读者最多"), ("Filter by tag", "按标签筛选")],
    "/books/?q=ruby+%26": [("A tag is missing after “&amp;”.", "“&amp;”后面缺少标签。")],
    "/books/?q=rubi": [
        ("No books have the tag “rubi”.", "没有带“rubi”标签的书。"),
        ("Did you mean:", "是不是要找："),
    ],
    "/books/?q=ruby+-+web": [
        ("No books match your search.", "没有符合条件的图书。"),
        ('class="not">not<', 'class="not">不含<'),
    ],
    "/books/1/": [
        ("750 BC", "公元前750年"),
        ("1,234 ratings on other sites", "站外 1,234 人评分"),
        ("English</dd>", "英语</dd>"),
    ],
    "/books/1/?explain=1": [("Behind this page", "页面背后"), (" round trips to Redis, ", "与 Redis 往返 ")],
    "/accounts/login/": [
        ("New to Diptych?", "还没有账号？"),
        ("Name or email address</label>", "用户名或邮箱</label>"),
    ],
    "/accounts/register/": [("Letters, numbers", "文字、数字"), ("Confirm password", "密码")],
    "/no-such-page/": [("Page not found", "页面不存在"), ("Error 404", "错误 404")],
}
LANGUAGES = ["en", "zh-hans"]
JUNE = datetime(2026, 6, 15, tzinfo=UTC)
ONE_DAY = timedelta(days=1)


def read_chinese() -> list[str]:
    """Return the Chinese texts of all catalogues."""
    paths = [messages.get_catalogue_path("zh_Hans", folder) for folder in messages.CATALOGUES]
    entries = [entry for path in paths for entry in polib.pofile(str(path)) if not entry.obsolete]
    return [entry.msgstr or entry.msgstr_plural[0] for entry in entries]


@pytest.fixture
def book(transactional_db: None) -> Book:
    """Create the only book, with a value in every field."""
    book = Book.objects.create(id=1, title="Ruby", year=-750, language="eng", popularity=1234, rating="4.5")
    book.tags.set([Tag.objects.create(name="ruby"), Tag.objects.create(name="web")])
    rebuild()
    return book


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.usefixtures("book")
def test_page_uses_only_the_chosen_language(client: Client, settings: Settings, path: str, language: str) -> None:
    settings.DEBUG = "explain" in path  # the panel "Behind this page" needs DEBUG
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    response = client.get(path, headers={"Accept-Language": "en" if language == "zh-hans" else "zh-CN"})
    html = response.content.decode()
    assert read_attributes(html, "html")["lang"] == language
    assert response.headers["Content-Language"] == language
    for english, chinese in PAGES[path]:
        said, unsaid = (chinese, english) if language == "zh-hans" else (english, chinese)
        assert said in html
        assert unsaid not in html


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.5", "zh-hans"),
        ("zh", "zh-hans"),
        ("fr, zh;q=0.2", "zh-hans"),
        ("en-GB", "en"),
        ("fr", "en"),
        ("", "en"),
    ],
)
def test_accept_language_decides_without_a_choice(client: Client, asked: str, language: str) -> None:
    response = client.get("/", headers={"Accept-Language": asked})
    assert response.headers["Content-Language"] == language
    assert "Accept-Language" in response.headers["Vary"]


def test_cookie_with_unknown_language_is_ignored(client: Client) -> None:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "tlh"
    assert client.get("/", headers={"Accept-Language": "zh-CN"}).headers["Content-Language"] == "zh-hans"


def test_every_message_is_translated() -> None:
    assert messages.check_catalogues() == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_large_numbers_have_separators(language: str) -> None:
    with translation.override(language):
        assert engines["jinja2"].from_string('{{ n|floatformat("0g") }}').render({"n": 1234567}) == "1,234,567"
        assert "1,234,567.89" in format_money(123456789)


def test_compiled_messages_are_loaded() -> None:
    with translation.override("zh-hans"):
        assert translation.gettext("Welcome, %(name)s.") % {"name": "alice"} == "欢迎你，alice。"
        assert translation.ngettext("%(shown)s book", "%(shown)s books", 1) == "%(shown)s 本书"
        assert [timesince(JUNE - age, JUNE) for age in (ONE_DAY, 31 * ONE_DAY)] == ["1\xa0天", "1\xa0个月"]


@pytest.mark.parametrize(
    "wrong", ["(?<!注)册", "账户", "[。，：；！？、）] (?! )", " [。，：；！？、（]", r"year\)[sd] 年"]
)
def test_chinese_has_one_word_for_each_concept_and_no_wide_gaps(wrong: str) -> None:
    assert [text for text in read_chinese() if re.search(wrong, text)] == []


def test_chinese_has_full_width_marks_and_a_space_beside_latin_words() -> None:
    """A date and a phrase in a placeholder need no space, so only literal characters are checked."""
    wrong = "[一-鿿][A-Za-z0-9,:;!?]|[A-Za-z0-9,:;!?][一-鿿]"
    formats = {"n月j日 H:i", "Y年n月j日"}
    texts = [re.sub(r"%\(\w+\)[sd]|</?\w[^>]*>", "", text) for text in read_chinese() if text not in formats]
    assert [text for text in texts if re.search(wrong, text)] == []


def test_browsers_add_no_blanks_to_chinese_dates() -> None:
    with translation.override("zh-hans"):
        assert [date_format(JUNE, form) for form in ("DATE_FORMAT", "MONTH_DAY_FORMAT")] == ["2026年6月15日", "6月15日"]
    assert "text-autospace: no-autospace" in (messages.ROOT / "common/static/css/base.css").read_text()


def test_spaces_separate_latin_and_chinese_words_only() -> None:
    assert close_gaps("小明 和另外 3 人 提到了你。") == "小明和另外 3 人提到了你。"
    with translation.override("zh-hans"):
        assert (colon(), comma(), gap()) == ("：", "，", "")
    assert close_gaps("Ann 提到了你。") == "Ann 提到了你。"
    assert close_gaps(mark_safe("<a><bdi>小明</bdi></a> 和 <b>王五</b>")) == "<a><bdi>小明</bdi></a>和<b>王五</b>"
    for language, between in (("en", " "), ("zh-hans", "")):
        with translation.override(language):
            assert gap() == between


def test_errors_of_django_have_the_words_of_the_site(client: Client, book: Book) -> None:
    assert "Fill in this field." in client.post("/accounts/register/", {}).content.decode()


def test_form_errors_are_translated(client: Client, book: Book) -> None:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    User.objects.create_user("alice")
    assert "请填写这一项。" in client.post("/accounts/register/", {}).content.decode()
    typed = {"username": "ALICE", "password1": "a quiet bookshop", "password2": "a quiet bookshop"}
    html = client.post("/accounts/register/", typed).content.decode()
    assert "这个用户名已被占用，请换一个。" in html
    html = client.post("/accounts/login/", {"username": "alice", "password": "wrong"}).content.decode()
    assert "用户名或密码不对，请检查后再试。" in html


@pytest.mark.parametrize("path", ["/admin/", "/admin/catalog/book/", "/admin/catalog/tag/", "/admin/accounts/user/"])
def test_admin_texts_missing_in_unfold_are_translated(client: Client, book: Book, path: str) -> None:
    client.force_login(User.objects.create_superuser("carol"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    html = client.get(path).content.decode()
    assert read_attributes(html, "html")["lang"] == "zh-hans"
    assert "书店管理后台" in html
    for english in ("All applications", "Search apps and models", "Select record", "Type to search", "Welcome back"):
        assert english not in html
