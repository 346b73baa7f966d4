"""Filters in the addresses of admin lists: only declared ones, and no value breaks a list."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.messages.storage import default_storage
from django.core.handlers.exception import convert_exception_to_response
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import Session, User
from tests.support.matrix.browser import Browser
from tests.support.matrix.world import MatrixWorld

pytestmark = pytest.mark.django_db

LOOKUPS: Final = ("regex", "startswith", "range")
VALUES: Final = ("a\0b", "9" * 5000, "9" * 40, "-1", "(", "2026-02-30")
PARAMETERS: Final = ("q", "p", "o", "all", "e", "_popup", "_to_field", "_facets")


@pytest.fixture
def staff(client: Client) -> Client:
    MatrixWorld()
    client.force_login(User.objects.create_superuser("carol"))
    client.raise_request_exception = False
    return client


def list_pages() -> Iterator[tuple[Any, str]]:
    for model, page in admin.site._registry.items():
        yield page, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


class ListView:
    """The view of a list for carol. It is called without the middleware, which takes longer than most lists."""

    def __init__(self, page: Any) -> None:
        self.user = User.objects.get(username="carol")
        self.view = convert_exception_to_response(page.changelist_view)

    def ask(self, query: str) -> Any:
        request: Any = RequestFactory().get("/", QUERY_STRING=query)
        request.user, request.session = self.user, {}
        request._messages = default_storage(request)
        return self.view(request)


def find_parameters(page: Any, client: Client) -> list[str]:
    """Return the parameters of the list's filters, of links to it, and of every list."""
    request = RequestFactory().get("/")
    request.user = User.objects.get(username="carol")
    filters = page.get_changelist_instance(request).filter_specs
    declared = [name for one in filters for name in one.expected_parameters()]
    return [*declared, *page.linked_lookups, *PARAMETERS]


@pytest.mark.only_on("sqlite")  # refused before a query
def test_undeclared_lookups_are_refused_by_every_list(staff: Client) -> None:
    wrong = []
    for page, address in list_pages():
        view = ListView(page)
        for field in page.model._meta.concrete_fields:
            names = [f"{field.name}__{lookup}" for lookup in LOOKUPS]
            if field.is_relation:
                names += [f"{field.name}__pk__gt"]
            for name in set(names) - set(page.linked_lookups):
                status = view.ask(f"{name}=(").status_code
                if status != 400:
                    wrong.append(f"{address}?{name}: {status}")
    assert wrong == []


def test_secrets_of_users_cannot_be_guessed_by_a_filter(staff: Client) -> None:
    for name in ("session_secret__startswith", "password__contains", "username__regex", "session_secret"):
        assert staff.get("/admin/accounts/user/", {name: "a"}).status_code == 400
    assert staff.get("/admin/accounts/session/", {"user__password__startswith": "a"}).status_code == 400


def test_no_value_breaks_a_list(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # The view reads the rows before it returns the response, and thousands of them would be rendered.
    monkeypatch.setattr(TemplateResponse, "rendered_content", "")
    wrong = []
    for page, address in list_pages():
        view = ListView(page)
        for name in find_parameters(page, staff):
            for value in VALUES:
                status = view.ask(urlencode({name: value})).status_code
                if status >= 500:
                    wrong.append(f"{address}?{name}={value[:20]!r}: {status}")
    assert wrong == []


@pytest.mark.parametrize(
    "query", [{"p": "2"}, {"p": "abc"}, {"q": "zzzqqq", "p": "2"}, {"q": "zzzqqq", "p": "last"}], ids=str
)
def test_no_page_of_an_empty_list_breaks(client: Client, query: dict[str, str]) -> None:
    client.force_login(User.objects.create_superuser("carol"))
    client.raise_request_exception = False
    answers = {address: client.get(address, query).status_code for _, address in list_pages()}
    assert {address: status for address, status in answers.items() if status >= 500} == {}


@pytest.mark.parametrize("count", [100, 1000])
def test_no_number_of_words_breaks_a_search(client: Client, count: int) -> None:
    client.force_login(User.objects.create_superuser("carol"))
    client.raise_request_exception = False
    for page, address in list_pages():
        if page.search_fields:
            answer = client.get(address, {"q": "a " * count})
            assert answer.status_code < 500, address
            assert ("at most 200 characters" in answer.content.decode()) is (count > 100), address


def test_links_of_declared_filters_work(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TemplateResponse, "rendered_content", "")  # as above
    browser = Browser(User.objects.get(username="carol"))
    for page, address in list_pages():
        request = RequestFactory().get("/")
        request.user = User.objects.get(username="carol")
        changelist = page.get_changelist_instance(request)
        for one in changelist.filter_specs:
            for choice in one.choices(changelist):
                linked = f"{address}{choice['query_string']}"
                assert browser.ask("GET", linked).status_code == 200, linked


def test_no_key_breaks_an_action(staff: Client) -> None:
    wrong = []
    for page, address in list_pages():
        request = RequestFactory().get("/")
        request.user = User.objects.get(username="carol")
        for action in page.get_actions(request):
            for value in VALUES:
                status = staff.post(address, {"action": action, "_selected_action": [value]}).status_code
                if status >= 500:
                    wrong.append(f"{address} {action} {value[:20]!r}: {status}")
    assert wrong == []


def test_no_term_breaks_the_search_of_related_rows(staff: Client) -> None:
    wrong = []
    for page, _address in list_pages():
        for name in page.autocomplete_fields:
            given = {"app_label": page.opts.app_label, "model_name": page.opts.model_name, "field_name": name}
            for value in VALUES:
                status = staff.get("/admin/autocomplete/", {**given, "term": value}).status_code
                if status >= 500:
                    wrong.append(f"{page} {name} {value[:20]!r}: {status}")
    assert wrong == []


def test_sessions_of_one_user_are_found_by_the_link(staff: Client) -> None:
    carol = User.objects.get(username="carol")
    page = staff.get("/admin/accounts/session/", {"user__id__exact": carol.pk})
    assert {row.user_id for row in page.context["cl"].result_list} == {carol.pk}
    assert Session.objects.exclude(user=carol).exists()


@pytest.mark.also_on("sqlite")
def test_no_key_in_an_address_breaks_the_page_of_a_row() -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.create_superuser("carol")
    for page, address in list_pages():
        for value in VALUES:
            assert page.get_object(request, value) is None, f"{address}{value[:20]!r}"
