"""System checks report dangerous settings of the shop."""

from pytest_django.fixtures import Settings

from shop.checks import (  # fmt: skip
    check_carriers,
    check_provider,
    check_provider_for_production,
    check_seller,
    check_seller_country,
)


def test_a_missing_provider_is_an_error(settings: Settings) -> None:
    assert check_provider(None) == []
    settings.PAYMENT_PROVIDER = "shop.payments.nobody.Nobody"
    assert [message.id for message in check_provider(None)] == ["shop.E001"]


def test_a_provider_with_missing_methods_is_an_error(settings: Settings) -> None:
    settings.PAYMENT_PROVIDER = "tests.shop.unreliable_provider.UnreliableProvider"
    message = check_provider(None)[0]
    assert (message.id, message.msg) == (
        "shop.E002",
        "PAYMENT_PROVIDER lacks decode_callback, find, give_up, page, test_cards.",
    )


def test_the_fake_provider_in_production_is_a_warning(settings: Settings) -> None:
    assert [message.id for message in check_provider_for_production(None)] == ["shop.W001"]
    settings.PAYMENT_PROVIDER = "tests.faults.deadly.AfterTheCharge"
    assert check_provider_for_production(None) == []


def test_a_timeout_as_long_as_the_reservation_is_a_warning(settings: Settings) -> None:
    settings.PAYMENT_PROVIDER = "tests.faults.deadly.AfterTheCharge"
    settings.PAYMENT_TIMEOUT_SECONDS = 300
    assert [message.id for message in check_provider_for_production(None)] == ["shop.W002"]


def test_an_unnamed_seller_in_production_is_a_warning(settings: Settings) -> None:
    assert [message.id for message in check_seller(None)] == ["shop.W003"]
    settings.SELLER_NAME, settings.SELLER_ADDRESS = "Diptych Ltd", "1 Long Lane; London"
    settings.SELLER_EMAIL, settings.SELLER_COUNTRY = "shop@example.org", "GB"
    assert check_seller(None) == check_seller_country(None) == []
    settings.SELLER_COUNTRY = "UK"
    assert [message.id for message in check_seller_country(None)] == ["shop.E003"]


def test_a_link_of_a_carrier_without_encryption_is_an_error(settings: Settings) -> None:
    assert check_carriers(None) == []
    settings.SHOP_CARRIERS = {"Fine": "https://a.example/{number}", "Open": "http://a.example/{number}"}
    assert [message.msg for message in check_carriers(None)] == ["SHOP_CARRIERS is wrong for Open."]
