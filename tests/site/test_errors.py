"""Error pages, also while Redis and SQL are down."""

from collections.abc import Iterator

import pytest
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from accounts.models import User
from mirror.redis.recorder import record
from tests.support.servers import RedisServer
from tests.support.site.html import find_policy_violations, read_attributes


def _bad(request: HttpRequest) -> HttpResponse:
    raise BadRequest("secret detail")


def _denied(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("secret detail")


def _broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("secret detail")


urlpatterns = [
    path("bad/", _bad),
    path("denied/", _denied),
    path("broken/", _broken),
    path("", include("config.urls")),
]
handler400 = "common.web.errors.bad_request"
handler403 = "common.web.errors.forbidden"
handler404 = "common.web.errors.not_found"
handler500 = "common.web.errors.server_error"

PAGES = [("/bad/", 400), ("/denied/", 403), ("/missing/", 404), ("/broken/", 500)]


@pytest.fixture(autouse=True)
def with_failing_views() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield


@pytest.fixture
def visitor() -> Client:
    """Return a client with a session cookie, which would cost a query if the page read it."""
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "x" * 32
    return client


@pytest.mark.parametrize(("address", "status"), PAGES)
def test_error_page_has_the_style_of_the_site(visitor: Client, address: str, status: int) -> None:
    response = visitor.get(address)
    page = response.content.decode()
    assert response.status_code == status
    assert f"Error {status}" in page
    assert "css/tokens.css" in page
    assert "secret detail" not in page
    # A page that is missing or forbidden has the whole header and a search. After a fault of the site nothing may work.
    is_own_fault = status >= 500
    assert ('href="/home/"' in page, 'id="find"' in page, "<script" in page, 'class="foot"' in page) == (
        not is_own_fault,
    ) * 4
    assert find_policy_violations(page) == []
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(("address", "status"), PAGES)
def test_error_page_uses_neither_redis_nor_sql(visitor: Client, address: str, status: int) -> None:
    with record() as seen:
        assert visitor.get(address).status_code == status
    assert (seen.round_trips, seen.sql) == (0, [])


@pytest.mark.parametrize(("address", "status"), PAGES)
def test_error_page_works_while_redis_and_sql_are_down(
    visitor: Client, redis_server: RedisServer, address: str, status: int
) -> None:
    # Without a database mark pytest-django refuses every connection, as a stopped database would.
    redis_server.kill()
    assert visitor.get(address).status_code == status


@pytest.mark.parametrize(("address", "status"), PAGES)
def test_error_page_keeps_theme_and_language(visitor: Client, address: str, status: int) -> None:
    visitor.cookies["theme"] = "dark"
    response = visitor.get(address, headers={"Accept-Language": "zh-CN"})
    assert response.status_code == status
    html = read_attributes(response.content.decode(), "html")
    assert (html["data-theme"], html["lang"]) == ("dark", "zh-hans")


@pytest.mark.parametrize(("address", "status"), PAGES)
def test_json_requests_get_json_errors(visitor: Client, address: str, status: int) -> None:
    response = visitor.get(address, headers={"Accept": "application/json"})
    assert response.status_code == status
    assert response.json()["error"]["message"]


def test_form_without_csrf_token_gets_an_explanation() -> None:
    with record() as seen:
        response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "alice"})
    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()
    assert seen.sql == []


def test_unknown_host_gets_the_error_page() -> None:
    response = Client().get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "Error 400" in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["abc", "9" * 30])
def test_admin_refuses_choices_and_counts_that_its_forms_never_send(client: Client, value: str) -> None:
    client.force_login(User.objects.create_superuser("alice"))
    rows = {"details-TOTAL_FORMS": "1", "details-INITIAL_FORMS": "0"}
    rows |= {"tagging_set-TOTAL_FORMS": "1", "tagging_set-INITIAL_FORMS": "0"}
    user = f"accounts/user/{User.objects.create_user('rita').pk}/change/"
    for page, form in (
        (user, {"groups": value, "username": "rita"}),
        (user, {"user_permissions": ["1", value]}),
        ("auth/group/add/", {"name": "g", "permissions": value}),
        ("catalog/tagalias/add/", {"name": "a", "tag": value}),
        ("catalog/book/add/", rows | {"title": "Salt", "authors": value}),
        ("catalog/book/add/", rows | {"title": "Salt", "tagging_set-0-tag": value}),
        ("catalog/book/add/", rows | {"title": "Salt", "details-0-translators": value}),
        ("catalog/book/add/", rows | {"title": "Salt", "details-0-illustrators": value}),
        ("catalog/book/", {"action": "remove_tag", "_selected_action": value}),
        ("shop/product/", {"action": "withdraw", "_selected_action": ["1", value]}),
        ("shop/sale/add/", {"name": "s", "items-TOTAL_FORMS": "1", "items-0-product": value}),
        ("catalog/book/", {"action": "delete_selected", "_selected_action": value}),
    ):
        assert client.post(f"/admin/{page}", form).status_code == 400, form
    for count in ("9" * 30, "1000"):
        assert client.post("/admin/catalog/book/add/", rows | {"details-TOTAL_FORMS": count}).status_code == 400
    # A wrong choice of a plain field, and an empty one, are errors of the form.
    assert client.post("/admin/wishes/bookwish/add/", {"user": value}).status_code == 200
    assert client.post("/admin/catalog/tagalias/add/", {"name": "a", "tag": ""}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["change", "delete"])
def test_admin_refuses_an_empty_to_field(client: Client, page: str) -> None:
    client.force_login(User.objects.create_superuser("alice"))
    path = f"/admin/accounts/user/{User.objects.create_user('rita').pk}/{page}/"
    assert client.get(f"{path}?_to_field=").status_code == 400
    assert client.post(path, {"_to_field": ""}).status_code == 400
    assert client.get(f"{path}?_to_field=id").status_code == 200
