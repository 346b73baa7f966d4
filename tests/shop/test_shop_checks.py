"""Settings of the shop that are dangerous are reported."""

from pytest_django.fixtures import Settings

from shop.checks import check_money, check_provider


def test_a_provider_that_there_is_not_is_an_error(settings: Settings) -> None:
    assert check_provider(None) == []
    settings.PAYMENT_PROVIDER = "shop.payments.nobody.Nobody"
    assert [message.id for message in check_provider(None)] == ["shop.E001"]


def test_test_cards_in_production_are_warned_of(settings: Settings) -> None:
    assert [message.id for message in check_money(None)] == ["shop.W001"]
    settings.PAYMENT_PROVIDER = "tests.support.faults.deadly.AfterTheCharge"
    assert check_money(None) == []


def test_a_page_that_waits_as_long_as_copies_are_kept_is_warned_of(settings: Settings) -> None:
    settings.PAYMENT_PROVIDER = "tests.support.faults.deadly.AfterTheCharge"
    settings.PAYMENT_TIMEOUT_SECONDS = 300
    assert [message.id for message in check_money(None)] == ["shop.W002"]
