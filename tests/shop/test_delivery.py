"""Delivery and VAT: options, prices, days, and the totals of orders computed by hand."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pytest
from django.core import mail
from django.template.loader import get_template
from django.test import Client
from django.utils import timezone
from django.utils.translation import override
from pytest_django.fixtures import Settings

from accounts.models import User
from shop.addresses.countries import list_codes
from shop.carts.reading import read_cart
from shop.delivery.days import add_working_days, describe_arrival
from shop.delivery.names import label_delivery, translate_method
from shop.delivery.vat import TaxLeft, compute_included_vat, load_rates, split_vat
from shop.emails import make_email
from shop.invoices.content import list_order_items, make_content
from shop.models import DeliveryMethod, DeliveryPrice, DeliveryZone, Order, Payment, Product, VatClass
from shop.money import format_money
from shop.selectors.checkout import Target, make_checkout_page
from shop.services import carts
from shop.services.checkout import begin_checkout
from shop.services.errors import DeliveryGone, DeliveryRose, NoDelivery
from shop.tasks import confirm
from tests.shop.test_checkout_page import digest_in, hidden, text_of
from tests.support.shop.carts import make_session
from tests.support.shop.checkouts import CARD_FIELDS, HOME, assert_ledger_is_right, run_together
from tests.support.shop.make import make_product

pytestmark = pytest.mark.django_db(transaction=True)
LEIPZIG = {"name": "Anna", "email": "anna@example.org", "country": "DE", "street": "Am Markt 3", "city": "Leipzig"}
LEIPZIG |= {"postcode": "04109", **CARD_FIELDS}


class Shop(NamedTuple):
    """Products and methods: a paperback, a heavy book, goods that are no book; to Germany, the EU and elsewhere."""

    novel: Product
    tome: Product
    calendar: Product
    standard: DeliveryMethod
    express: DeliveryMethod


def add_method(zone: DeliveryZone, name: str, days: tuple[int, int], prices: dict[int, int], **fields: Any) -> Any:
    method = DeliveryMethod.objects.create(zone=zone, name=name, min_days=days[0], max_days=days[1], **fields)
    DeliveryPrice.objects.bulk_create(
        DeliveryPrice(method=method, max_grams=grams, price=price) for grams, price in prices.items()
    )
    return method


@pytest.fixture
def shop(settings: Settings) -> Shop:
    settings.SELLER_COUNTRY = "DE"
    germany = DeliveryZone.objects.create(name="Germany", countries="DE")
    union = DeliveryZone.objects.create(name="EU", countries="at, DK fi FR, IE")
    add_method(union, "Europe", (4, 7), {2000: 990, 5000: 1490})
    add_method(DeliveryZone.objects.create(name="World"), "World", (8, 15), {2000: 1990})
    return Shop(
        make_product("Novel", price=1250, stock=50),
        make_product("Tome", price=3999, stock=50, grams=1800),
        make_product("Calendar", price=1499, stock=50, grams=600, vat_class=VatClass.STANDARD),
        add_method(germany, "Standard", (2, 4), {1000: 390, 5000: 690}, free_from=5000),
        add_method(germany, "Express", (1, 1), {5000: 1290}),
    )


# Country, copies of (novel, tome, calendar), method; then price of delivery, total, VAT. All computed by hand:
# 1640 * 7 / 107 = 107.29, and so on, each sum at one rate rounded once.
BASKETS = [
    ("DE", (1, 0, 0), "", 390, 1640, 107),
    ("DE", (3, 0, 0), "", 690, 4440, 290),  # 1,200 g
    ("DE", (4, 0, 0), "", 0, 5000, 327),  # free from 50.00
    ("DE", (1, 0, 0), "Express", 1290, 2540, 166),
    ("DE", (1, 0, 1), "", 390, 3139, 82 + 302),  # mostly other goods: delivery has their rate of 19%
    ("DE", (2, 0, 1), "", 690, 4689, 209 + 239),  # 1,400 g, mostly books
    ("AT", (0, 1, 0), "", 990, 4989, 454),
    ("FR", (1, 1, 0), "", 1490, 6739, 351),  # 2,200 g at 5.5%
    ("FI", (2, 0, 0), "", 990, 3490, 415),  # 13.5%
    ("DK", (1, 0, 0), "", 990, 2240, 448),  # no lower rate for books
    ("IE", (1, 0, 0), "", 990, 2240, 0),  # books at 0%
    ("US", (1, 0, 0), "", 1990, 3240, 0),  # outside the EU
    ("CH", (2, 0, 0), "", 1990, 4490, 0),
]


def test_totals_of_orders_computed_by_hand(shop: Shop) -> None:
    user = User.objects.create_user("anna")
    for number, (country, copies, method, price, total, vat) in enumerate(BASKETS):
        digest = make_session(f"cart {number}")
        for product, quantity in zip((shop.novel, shop.tome, shop.calendar), copies, strict=True):
            carts.set_line(digest, product.pk, quantity)
        cart, chosen = read_cart(digest), shop.express.pk if method == "Express" else None
        page = make_checkout_page(cart, Target(country, chosen))
        assert page.chosen is not None
        shown = (page.chosen.price, page.total, sum((page.vat or {}).values()))
        assert shown == (price, total, vat), (country, copies)
        address = HOME._replace(country=country)
        order = begin_checkout(user, digest, version=cart.version, total=page.total, address=address, method_id=chosen)
        order.refresh_from_db()
        assert (order.delivery_price, order.total, order.vat) == shown
        assert order.vat == sum(line.vat or 0 for line in order.lines.all()) + (order.delivery_vat or 0)


WARNING = "No VAT charged. Customs or import tax may be due on delivery."


def test_only_parcels_that_leave_the_vat_area_of_the_union_meet_customs(shop: Shop) -> None:
    """Some regions of member states are outside of it. Those with a code of their own are countries in addresses."""
    digest = make_session("cart")
    carts.set_line(digest, shop.novel.pk, 1)
    cart, union, words = read_cart(digest), set(load_rates()), get_template("shop/_vat.html")
    outside = {"AX", "GP", "GF", "MQ", "YT", "RE", "MF", "GI", "GG", "JE", "GB", "CH", "NO", "US", "CN"}
    assert len(union) == 27
    assert union | outside <= list_codes()
    for country in sorted(union | outside):
        vat = make_checkout_page(cart, Target(country)).vat
        text = " ".join(words.render({"vat": vat}).split())
        assert (WARNING in text) == (country in outside), country
        rate = f"includes {load_rates()[country].books}% VAT" if country in union else "includes"
        assert (rate in text) == (country in union), country


@pytest.mark.parametrize(("country", "is_warned"), [("IE", False), ("CH", True)])
def test_all_pages_of_an_order_agree_about_its_vat(country: str, is_warned: bool, shop: Shop) -> None:
    user, desk = User.objects.create_user("anna", email="anna@example.org"), Client()
    desk.force_login(user)
    carts.set_line(digest_in(desk), shop.novel.pk, 1)
    cart = read_cart(digest_in(desk))
    total = make_checkout_page(cart, Target(country)).total
    address = HOME._replace(country=country)
    order = begin_checkout(user, digest_in(desk), version=cart.version, total=total, address=address)
    for path in (f"/shop/orders/{order.pk}/", f"/shop/orders/{order.pk}/cancel/"):
        text = text_of(desk.get(path))
        assert (WARNING in text) == is_warned
        assert ("includes 0% VAT €0.00" in text) == (not is_warned)
    body = make_email("confirmed", order).body
    assert ("includes 0% VAT: €0.00" in body) == (not is_warned)
    assert "ustoms" not in str(make_content(order, list_order_items(order), date(2026, 11, 28)))


def test_vat_is_computed_once_for_each_rate() -> None:
    seven, nineteen = Decimal(7), Decimal(19)
    # 8437 * 7 / 107 = 551.95. Line by line it is 115.47, 46.19 and 390.30, rounded to 551.
    assert sum(split_vat([(1765, seven), (706, seven), (5966, seven)])) == 552
    # 3689 * 7 / 107 = 241.34. Line by line it is 189.72 and 51.62, rounded to 242.
    assert sum(split_vat([(2900, seven), (789, seven)])) == 241
    mixed = [(1250, seven), (1499, nineteen), (390, nineteen), (1250, seven)]
    assert split_vat(mixed) == [82, 240, 62, 82]  # 164 of 2500, and 302 of 1889
    for seed in range(200):
        random = Random(seed)
        parts = [(random.randrange(5000), random.choice((seven, nineteen))) for _n in range(random.randint(1, 9))]
        vat = split_vat(parts)
        assert all(0 <= cents <= total for cents, (total, _rate) in zip(vat, parts, strict=True))
        for rate in (seven, nineteen):
            total = sum(total for total, each in parts if each == rate)
            found = sum(cents for cents, (_total, each) in zip(vat, parts, strict=True) if each == rate)
            assert found == compute_included_vat(total, rate), parts


def test_refunds_leave_no_cent_of_vat() -> None:
    """Each refund has the VAT of its amount, within a cent; the last one takes the remainder."""
    for seed in range(300):
        random = Random(seed)
        rate, amount = Decimal(random.choice((5, 7, 19, 27))), random.randrange(1, 4000)
        drift = random.choice((0, 0, 3))  # an order from before the sum by rate
        left = TaxLeft(rate, amount, min(amount, compute_included_vat(amount, rate) + drift))
        while left.amount:
            taken = min(left.amount, random.choice((7, 8, 100, 999)))
            vat = left.compute_refunded(taken)
            assert 0 <= vat <= left.vat
            assert vat <= taken
            if not drift:
                assert abs(vat - compute_included_vat(taken, rate)) <= 2
            left = TaxLeft(rate, left.amount - taken, left.vat - vat)
        assert left.vat == 0


def test_vat_is_rounded_to_the_smallest_unit_of_the_currency(settings: Settings) -> None:
    for currency, total, rate, shown in [
        ("EUR", 3, "20", "€0.01"),  # 0.5 cents are rounded up
        ("JPY", 1599, "7", "¥105"),  # 104.6
        ("KWD", 15990, "7", "KWD 1.046"),  # 1046.07
        ("KWD", 15990, "0", "KWD 0.000"),
    ]:
        settings.SHOP_CURRENCY = currency
        assert format_money(compute_included_vat(total, Decimal(rate))) == shown
    assert len(load_rates()) == 27
    assert all(0 <= rates.books <= rates.standard <= 27 for rates in load_rates().values())


def test_days_of_arrival_are_working_days_in_words() -> None:
    friday, sunday = date(2026, 11, 27), date(2026, 11, 29)
    assert [add_working_days(friday, days).isoformat()[5:] for days in (0, 1, 5)] == ["11-27", "11-30", "12-04"]
    assert [add_working_days(sunday, days).isoformat()[5:] for days in (0, 1)] == ["11-30", "11-30"]
    assert describe_arrival(date(2026, 12, 1), date(2026, 12, 3), friday) == "arrives Tue to Thu"
    assert describe_arrival(date(2026, 12, 1), date(2026, 12, 1), friday) == "arrives Tue"
    assert describe_arrival(date(2026, 12, 7), date(2026, 12, 9), friday) == "arrives 7 to 9 Dec"
    assert describe_arrival(date(2026, 12, 30), date(2027, 1, 5), friday) == "arrives 30 Dec to 5 Jan"
    with override("zh-hans"):
        assert describe_arrival(date(2026, 12, 9), date(2026, 12, 18), friday) == "预计12月9日至18日送达"
    assert describe_arrival(date(2026, 12, 1), date(2026, 12, 3), None) == "arrives 1 to 3 Dec"
    assert describe_arrival(None, None, friday) == ""


def test_days_of_arrival_count_from_the_day_of_the_shop(shop: Shop, settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2026, 11, 26, 12, tzinfo=UTC)  # Thursday, and Friday for the buyer
    user, digest = User.objects.create_user("anna"), make_session("cart")
    cart, there = carts.set_line(digest, shop.novel.pk, 1), HOME._replace(country="DE")
    with timezone.override("Pacific/Kiritimati"):
        page = make_checkout_page(cart, Target("DE"))
        order = begin_checkout(user, digest, version=cart.version, total=page.total, address=there)
    assert page.chosen is not None
    monday, wednesday = date(2026, 11, 30), date(2026, 12, 2)
    assert (page.chosen.first_day, page.chosen.last_day) == (monday, wednesday)
    assert (order.arrives_from, order.arrives_by) == (monday, wednesday)


def test_the_usual_international_method_names_its_country(shop: Shop) -> None:
    assert translate_method("International", "GB") == "Standard delivery to the United Kingdom"
    assert translate_method("International", "FR") == "Standard delivery to France"
    assert (translate_method("International"), translate_method("Express", "GB")) == ("International", "Express")
    with override("zh-hans"):
        assert translate_method("International", "GB") == "标准配送至英国"


def test_the_sum_of_an_order_names_the_country_or_the_method() -> None:
    assert label_delivery("International", "GB") == "Delivery to the United Kingdom"
    assert label_delivery("Express", "GB") == "Delivery: <bdi>Express</bdi>"
    assert label_delivery("<Bike>", "DE") == "Delivery: <bdi>&lt;Bike&gt;</bdi>"
    assert label_delivery("", "DE") == "Delivery"
    with override("zh-hans"):
        assert label_delivery("International", "GB") == "运费（寄往英国）"
        assert label_delivery("Standard", "DE") == "运费：<bdi>标准配送</bdi>"


def test_a_buyer_pays_what_the_page_showed(shop: Shop, settings: Settings) -> None:
    desk = Client()
    desk.force_login(User.objects.create_user("anna", email="anna@example.org"))
    carts.set_line(digest_in(desk), shop.novel.pk, 90)  # too heavy, so there is no delivery and no total
    too_heavy = text_of(desk.get("/shop/checkout/"))
    assert "We cannot deliver this order to this country." in too_heavy
    assert "Total" not in too_heavy
    carts.set_line(digest_in(desk), shop.novel.pk, 1)
    page = desk.get("/shop/checkout/")
    assert hidden(page)["total"] == "1640"
    sums = ("Books €12.50", "Delivery: Standard €3.90", "Total €16.40", "includes 7% VAT €1.07")
    for words in (*sums, "Delivery: Standard €3.90 Arrives", "€3.90 Express Arrives"):
        assert words in text_of(page)
    form = LEIPZIG | hidden(page)
    # Usual names of methods are translated.
    assert "标准配送 €3.90" in text_of(desk.get("/shop/checkout/", headers={"Accept-Language": "zh-hans"}))
    # A dearer method needs a look at its total, with the button or without.
    refused = desk.post("/shop/checkout/", form | {"delivery": str(shop.express.pk)})
    assert (refused.status_code, hidden(refused)["total"]) == (409, "2540")
    assert "The total has gone up" in text_of(refused)
    shown = desk.post("/shop/checkout/", form | {"delivery": str(shop.express.pk), "refresh": "1"})
    assert (shown.status_code, hidden(shown)["total"]) == (200, "2540")
    assert not Order.objects.exists()
    # A cheaper one needs none.
    response = desk.post("/shop/checkout/", form | {"total": "2540", "delivery": str(shop.standard.pk)})
    order = Order.objects.get()
    assert (response["Location"], order.delivery_name, order.total) == (f"/shop/orders/{order.pk}/", "Standard", 1640)
    assert Payment.objects.get().amount == 1640
    assert order.arrives_from is not None
    # Later changes of the method change no order.
    DeliveryMethod.objects.all().delete()
    text = text_of(desk.get(f"/shop/orders/{order.pk}/"))
    for words in (*sums, "Standard: arrives"):
        assert words in text
    confirm(order.pk)
    for words in ("Delivery (Standard): €3.90", "Total: €16.40", "includes 7% VAT: €1.07"):
        assert words in mail.outbox[0].body
    assert re.search(r"Standard: arrives \d", str(mail.outbox[0].body)), "a weekday says nothing later"


def test_deliveries_that_cannot_be_made_are_refused(shop: Shop) -> None:
    user, digest = User.objects.create_user("anna"), make_session("cart")
    cart = carts.set_line(digest, shop.tome.pk, 3)  # 5,400 g
    for country, method, total, refusal in [
        ("DE", None, 99999, NoDelivery),
        ("", None, 99999, NoDelivery),
        ("AT", shop.standard.pk, 99999, NoDelivery),
    ]:
        with pytest.raises(refusal):
            begin_checkout(
                user,
                digest,
                version=cart.version,
                total=total,
                address=HOME._replace(country=country),
                method_id=method,
            )
    cart = carts.set_line(digest, shop.tome.pk, 1)
    there = HOME._replace(country="AT")
    with pytest.raises(DeliveryGone):
        begin_checkout(user, digest, version=cart.version, total=9999, address=there, method_id=shop.standard.pk)
    with pytest.raises(DeliveryRose):
        begin_checkout(user, digest, version=cart.version, total=4988, address=there)
    assert not Order.objects.exists()
    assert_ledger_is_right({shop.novel.pk: 50, shop.tome.pk: 50, shop.calendar.pk: 50})


def test_one_cart_becomes_one_order_with_delivery(shop: Shop) -> None:
    user, digest = User.objects.create_user("anna"), make_session("cart")
    cart = carts.set_line(digest, shop.novel.pk, 2)
    address = HOME._replace(country="DE")

    def buy(number: int) -> Order:
        return begin_checkout(user, digest, version=cart.version, total=2890, address=address)

    found = run_together(6, buy)
    assert {getattr(order, "pk", order) for order in found} == {Order.objects.get().pk}
    assert Order.objects.get().total == 2890


def test_staff_learn_why_a_zone_or_a_method_is_refused(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    germany, rest = (
        DeliveryZone.objects.create(name="Germany", countries="DE"),
        DeliveryZone.objects.create(name="Rest"),
    )
    add, given = "/admin/shop/deliveryzone/add/", {"name": "Europe", "countries": "FR, de"}
    assert "in the zone “Germany” already: DE" in text_of(client.post(add, given))
    assert "The zone “Rest” is already for all other countries." in text_of(client.post(add, given | {"countries": ""}))
    assert client.post(add, given | {"countries": "FR"}).status_code == 302
    # A zone does not stand in its own way.
    own = client.post(f"/admin/shop/deliveryzone/{rest.pk}/change/", {"name": "All others", "countries": ""})
    assert own.status_code == 302
    add = "/admin/shop/deliverymethod/add/"
    given = {"zone": str(germany.pk), "name": "Standard", "min_days": "4", "max_days": "2", "is_active": "on"}
    given |= {"prices-TOTAL_FORMS": "1", "prices-INITIAL_FORMS": "0", "prices-0-max_grams": "", "prices-0-price": ""}
    page = text_of(client.post(add, given))
    assert "The last day cannot be before the first." in page
    assert "shop_delivery_days" not in page
    assert "Enter at least one price." in text_of(client.post(add, given | {"max_days": "5"}))
    given |= {"max_days": "5", "prices-0-max_grams": "1000", "prices-0-price": "3.90"}
    assert client.post(add, given).status_code == 302
    assert DeliveryPrice.objects.get().price == 390
