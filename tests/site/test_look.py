"""Theme and language: kept in a cookie, without an account, and applied on the server."""

import pytest
from django.conf import settings
from django.test import Client

from tests.support.site.html import read_attributes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chosen_theme_is_part_of_the_html(client: Client, theme: str) -> None:
    client.post("/look/theme/", {"theme": theme})
    page = client.get("/").content.decode()
    assert read_attributes(page, "html")["data-theme"] == theme


def test_system_theme_applies_without_a_choice(client: Client) -> None:
    assert "data-theme" not in read_attributes(client.get("/").content.decode(), "html")


def test_theme_choice_can_be_reset(client: Client) -> None:
    client.post("/look/theme/", {"theme": "dark"})
    client.post("/look/theme/", {"theme": "system"})
    assert "data-theme" not in read_attributes(client.get("/").content.decode(), "html")


def test_invalid_theme_cookie_is_ignored(client: Client) -> None:
    client.cookies["theme"] = '"><script>'
    page = client.get("/").content.decode()
    assert "data-theme" not in read_attributes(page, "html")
    assert '"><script>' not in page


def test_theme_cookie_lasts_a_year_and_is_hidden_from_scripts(client: Client) -> None:
    cookie = client.post("/look/theme/", {"theme": "dark"}).cookies["theme"]
    assert cookie["max-age"] == 365 * 24 * 3600
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_unknown_theme_is_refused(client: Client) -> None:
    response = client.post("/look/theme/", {"theme": "neon"})
    assert response.status_code == 400
    assert "theme" not in response.cookies


@pytest.mark.parametrize("path", ["/look/theme/", "/look/language/"])
def test_choice_redirects_back_to_the_page(client: Client, path: str) -> None:
    chosen = {"theme": "dark", "language": "en", "next": "/books/?q=ruby"}
    assert client.post(path, chosen).headers["Location"] == "/books/?q=ruby"


@pytest.mark.parametrize("path", ["/look/theme/", "/look/language/"])
@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_choice_never_redirects_to_another_site(client: Client, path: str, elsewhere: str) -> None:
    response = client.post(path, {"theme": "dark", "language": "en", "next": elsewhere})
    assert response.headers["Location"] == "/"


@pytest.mark.parametrize("path", ["/look/theme/", "/look/language/"])
@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_cross_site_requests_are_refused(client: Client, path: str, headers: dict[str, str]) -> None:
    response = client.post(path, {"theme": "dark", "language": "zh-hans"}, headers=headers)
    assert response.status_code == 403
    assert not response.cookies


def test_forms_work_with_csrf_checks(client: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/look/theme/", {"theme": "dark"}, headers={"Origin": "http://testserver"})
    assert response.status_code == 302


@pytest.mark.parametrize("path", ["/look/theme/", "/look/language/"])
def test_get_requests_change_nothing(client: Client, path: str) -> None:
    response = client.get(path, {"theme": "dark", "language": "zh-hans"})
    assert response.status_code == 405
    assert not response.cookies


def test_chosen_language_is_kept(client: Client) -> None:
    client.post("/look/language/", {"language": "zh-hans"})
    assert read_attributes(client.get("/").content.decode(), "html")["lang"] == "zh-hans"
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME].value == "zh-hans"


def test_accept_language_selects_the_language(client: Client) -> None:
    page = client.get("/", headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}).content.decode()
    assert read_attributes(page, "html")["lang"] == "zh-hans"
