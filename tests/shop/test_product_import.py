"""Products from a CSV file: a dry run names every error by line and column, and changes are made together or not."""

import re
from typing import Any, Final

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.test import Client

from accounts.audit.models import AuditEvent
from accounts.models import User
from shop.models import Product
from shop.services.products import ProductEdit, ProductsChanged, apply_edits
from tests.support.shop.make import make_product

pytestmark = pytest.mark.django_db

PRODUCTS: Final = "/admin/shop/product/"
IMPORT: Final = f"{PRODUCTS}import/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def upload(client: Client, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    response = client.post(IMPORT, {"file": SimpleUploadedFile("products.csv", data)})
    assert response.status_code == 200
    return str(response.content.decode())


def read_errors(page: str) -> list[tuple[str, str, str]]:
    row = r'<tr><th scope="row" class="number">(\d+)</th><td>([^<]*)</td><td>([^<]*)</td>'
    return re.findall(row, page)


def confirm(client: Client, page: str) -> str:
    fields = dict(re.findall(r'type="hidden" name="(content|seen)" value="([^"]+)"', page))
    return str(client.post(IMPORT, fields, follow=True).content.decode())


def values(*products: Product) -> list[tuple[int, int, int]]:
    return [Product.objects.values_list("price", "stock", "grams").get(pk=product.pk) for product in products]


def test_a_download_comes_back_with_changes_after_a_dry_run(staff: Client) -> None:
    emma, moss = make_product("=Emma", price=1250, stock=5), make_product("Moss", price=700, stock=9)
    form = {"action": "export_csv", "_selected_action": [emma.pk, moss.pk]}
    response: Any = staff.post(PRODUCTS, form)
    downloaded = b"".join(response.streaming_content).decode()
    assert "0 products would change" in upload(staff, downloaded)
    edited = downloaded.replace(",1250,5,", ",1300,7,")
    for content in (edited, edited.replace(",", ";"), edited.encode("utf-16")):
        page = upload(staff, content)
        assert "1 product would change" in page
        assert "price: €12.50 → €13.00, in stock: 5 → 7" in page
    assert values(emma, moss) == [(1250, 5, 400), (700, 9, 400)]
    Product.objects.filter(pk=emma.pk).update(stock=F("stock") - 1)  # a sale meanwhile
    again = confirm(staff, page)
    assert "Products have changed since the file was checked." in again
    assert "in stock: 4 → 7" in again
    assert values(emma, moss) == [(1250, 4, 400), (700, 9, 400)]
    assert "1 product was changed." in confirm(staff, again)
    assert values(emma, moss) == [(1300, 7, 400), (700, 9, 400)]
    assert AuditEvent.objects.get(kind="staff").details == "Change. price: €12.50 → €13.00, in stock: 4 → 7"


def test_errors_name_line_and_column_and_nothing_is_changed(staff: Client) -> None:
    emma = make_product("Emma", price=1250, stock=5)
    Product.objects.filter(pk=emma.pk).update(reserved=2)
    lines = [f"{emma.pk},900,1,", f"{emma.pk},900,5,", "99999,1,1,1", f"x,-1,1.5,{'9' * 30}", "1,2"]
    errors = read_errors(upload(staff, "\n".join(["id,price_in_cents,stock,grams", *lines])))
    assert [(line, column) for line, column, _ in errors] == [
        ("2", "stock"), ("3", "id"), ("4", "id"), ("5", "grams"), ("5", "id"), ("5", "price_in_cents"), ("5", "stock"),
        ("6", ""),
    ]  # fmt: skip
    assert errors[0][2] == "2 copies are reserved for orders: the stock cannot be lower."
    for content, error in (
        ("title,stock\nEmma,1\n", "The first line needs the column id"),
        ("id,title\n1,Emma\n", "The first line needs the column id"),
        (f'id,stock\n{emma.pk},"7\n', "The quotes of this line are not in pairs."),
        ("id,stock\n" + f"{emma.pk},7\n" * 2001, "The file has more than 2000 rows."),
        (f"id,price_in_cents\n{emma.pk},0\n", "A price of 0 is set on the page of the product."),
        (
            f"id,stock,title\n{emma.pk},7,Em\0ma\n",
            '<th scope="row" class="number">2</th><td></td><td>The line has a NUL',
        ),
        ("", "Choose a CSV file"),
        ("x" * 500_001, "Choose a CSV file"),
    ):
        assert error in upload(staff, content)
    assert values(emma) == [(1250, 5, 400)]
    for content in ("!", "", "aWQsc3RvY2sKMSwtMQ=="):  # a forged one with an error
        staff.post(IMPORT, {"content": content})
    assert values(emma) == [(1250, 5, 400)]
    old = ProductEdit(emma, {"grams": (300, 500)})
    with pytest.raises(ProductsChanged):
        apply_edits([ProductEdit(emma, {"price": (1250, 1)}), old])
    with pytest.raises(ProductsChanged):
        apply_edits([ProductEdit(emma, {"stock": (4, 7)})])  # another request of a double click was first
    assert values(emma) == [(1250, 5, 400)]


def test_full_width_digits_are_numbers(staff: Client) -> None:
    emma = make_product("Emma", price=1250, stock=5)
    page = upload(staff, f"id,price_in_cents,stock\n{emma.pk},１３００,７\n")
    assert "price: €12.50 → €13.00, in stock: 5 → 7" in page


def test_only_staff_who_change_products_import_them(client: Client) -> None:
    clerk = User.objects.create_user("dora", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="view_product"))
    client.force_login(clerk)
    assert client.get(IMPORT).status_code == client.post(IMPORT, {"content": "aQ=="}).status_code == 403
    assert IMPORT not in client.get(PRODUCTS).content.decode()
