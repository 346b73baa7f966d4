"""Links on the pages of the admin: each role may open what its pages lead to."""

import logging
import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client, RequestFactory
from django.urls import resolve
from django.utils import timezone

from accounts.models import Suspension, User
from catalog.wishes.models import BookWish
from config.roles import ROLES
from shop.models import Payment
from tests.site.test_access_matrix import SAME_AS
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.browser import Browser, text_of
from tests.support.matrix.world import MatrixWorld
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db

SHOWN: Final = ("changelist", "change", "add")
LINK: Final = re.compile(r'<a\b[^>]*\bhref="([^"]+)"')


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Suppress the log of refusals."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow(30)
def test_each_role_may_open_what_its_pages_lead_to() -> None:
    world = MatrixWorld()
    pages = [page for page in find_addresses(world) if page.page in SHOWN]
    refused = []
    for role, models in ROLES.items():
        user = User.objects.create_user(f"a {role}", is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        browser = Browser(user)
        for page in pages:
            assert page.model is not None
            label = page.model._meta.label_lower
            if SAME_AS.get(label, label) not in models:
                continue
            response = browser.ask("GET", page.path)
            if response.status_code == 200:
                links = _find_links(page.path, text_of(response))
                refused += [f"{role}: {page.path} leads to {link}" for link in links if not _may_open(user, link)]
    assert refused == []


def _may_open(user: User, address: str) -> bool:
    """Return whether the permissions allow a page of a row or list. Other pages of the admin check their own."""
    name = resolve(urlsplit(address).path).url_name or ""
    request: Any = RequestFactory().get(address)
    request.user = user
    for model, page in admin.site._registry.items():
        kind = name.removeprefix(f"{model._meta.app_label}_{model._meta.model_name}_")
        if kind in SHOWN:
            return page.has_add_permission(request) if kind == "add" else page.has_view_permission(request)
    return True


def log_in_with(*permissions: str) -> Client:
    user = User.objects.create_user(f"staff {permissions}", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_orders_of_payments_are_links_for_staff_who_may_open_them() -> None:
    order = make_order(User.objects.create_user("alice"), make_product("A book"))
    Payment.objects.create(order=order, key="k", amount=1)
    link = f'<a class="underline" href="/admin/shop/order/{order.pk}/change/">#{order.pk}</a>'
    without, both = (
        log_in_with(*names).get("/admin/shop/payment/").content.decode()
        for names in (["view_payment"], ["view_payment", "view_order"])
    )
    assert link in both
    assert link not in without
    assert f"#{order.pk}" in without


def test_read_only_keys_are_text_that_stays_escaped() -> None:
    reader = User.objects.create_user("<b>&amp;")
    Suspension.objects.create(user=reader, began_at=timezone.now(), ends_at=timezone.now())
    path = f"/admin/accounts/suspension/{reader.pk}/change/"
    link, name = f'href="/admin/accounts/user/{reader.pk}/change/"', "&lt;b&gt;&amp;amp;"
    without, both = (
        log_in_with(*names).get(path).content.decode()
        for names in (["view_suspension"], ["view_suspension", "view_user"])
    )
    assert link in both
    assert link not in without
    assert name in without
    assert "<b>&amp;" not in without


def test_staff_enter_the_wish_of_a_reader_by_name() -> None:
    """Staff of the catalogue may not look readers up."""
    reader, client = User.objects.create_user("alice"), log_in_with("view_book", "add_book", "change_book")
    page = "/admin/wishes/bookwish/add/"
    assert "/admin/accounts/user/" not in client.get(page).content.decode()
    for name in ("bob", "a\0b"):
        assert "No reader has this name." in client.post(page, {"user": name, "title": "Emma"}).content.decode()
    assert client.post(page, {"user": "alice", "title": "Emma"}).status_code == 302
    assert BookWish.objects.get().user == reader


def _find_links(page: str, text: str) -> set[str]:
    """Return the addresses of the admin that a page leads to."""
    found = {urldefrag(urljoin(page, unescape(link)))[0] for link in LINK.findall(text)}
    return {address for address in found if address.startswith("/admin/")}
