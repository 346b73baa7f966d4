"""System checks for dangerous settings of the shop."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.module_loading import import_string

from shop.addresses.countries import list_codes
from shop.delivery.tracking import is_safe_link
from shop.payments import Provider

SELLER_SETTINGS = ("SELLER_NAME", "SELLER_ADDRESS", "SELLER_EMAIL", "SELLER_COUNTRY")
MAX_CARRIER = 40  # characters of a name
FAKE_PROVIDER = "shop.payments.fake.FakeProvider"
STRIPE_PROVIDER = "shop.payments.stripe_checkout.StripeCheckout"


@register("shop")
def check_provider(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that PAYMENT_PROVIDER can be imported and has all methods."""
    try:
        provider = import_string(settings.PAYMENT_PROVIDER)
    except ImportError as error:
        return [Error(f"PAYMENT_PROVIDER: {error}", id="shop.E001")]
    wanted = {name for name in vars(Provider) if not name.startswith("_")} | set(Provider.__annotations__)
    if missing := sorted(name for name in wanted if not hasattr(provider, name)):
        hint = "shop.payments.Provider describes them."
        return [Error(f"PAYMENT_PROVIDER lacks {', '.join(missing)}.", hint, id="shop.E002")]
    return []


@register("shop")
def check_seller_country(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that SELLER_COUNTRY is the code of a country."""
    if settings.SELLER_COUNTRY and settings.SELLER_COUNTRY not in list_codes():
        return [Error("SELLER_COUNTRY is no ISO code of a country.", 'An example is "DE".', id="shop.E003")]
    return []


@register("shop")
def check_carriers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the links of carriers are encrypted and have a place for the number."""
    wrong = [name for name, link in settings.SHOP_CARRIERS.items() if not is_safe_link(link) or len(name) > MAX_CARRIER]
    if wrong:
        hint = 'An example is {"DHL": "https://dhl.example/track?id={number}"}.'
        return [Error(f"SHOP_CARRIERS is wrong for {', '.join(wrong)}.", hint, id="shop.E004")]
    return []


@register("shop", deploy=True)
def check_seller(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that production names its seller, as the law requires on pages and in emails."""
    missing = [name for name in SELLER_SETTINGS if not getattr(settings, name)]
    if missing:
        hint = "The imprint, the checkout and emails show them."
        return [Warning(f"The seller's details are incomplete: {', '.join(missing)}.", hint, id="shop.W003")]
    return []


@register("shop", deploy=True)
def check_stripe(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that Stripe's secrets are set, and are those of the real system."""
    if settings.PAYMENT_PROVIDER != STRIPE_PROVIDER:
        return []
    found: list[CheckMessage] = []
    key = settings.STRIPE_API_KEY
    if not key.startswith(("sk_", "rk_")):
        found.append(Error("STRIPE_API_KEY is not a secret key of Stripe.", 'It begins with "sk_".', id="shop.E004"))
    if not settings.PAYMENT_CALLBACK_SECRET.startswith("whsec_"):
        hint = 'Stripe shows it with the address of its callbacks. It begins with "whsec_".'
        found.append(Error("PAYMENT_CALLBACK_SECRET is not a signing secret of Stripe.", hint, id="shop.E005"))
    if "_test_" in key:
        hint = "Orders are paid with test cards."
        found.append(Warning("STRIPE_API_KEY belongs to Stripe's test system.", hint, id="shop.W004"))
    return found


@register("shop", deploy=True)
def check_provider_for_production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that production has a real provider, and that reservations outlast the wait for its answer."""
    found: list[CheckMessage] = []
    if settings.PAYMENT_PROVIDER == FAKE_PROVIDER:
        hint = "Set PAYMENT_PROVIDER to a class as shop.payments.Provider describes it."
        found.append(
            Warning("The fake payment provider is in use: orders are paid with test cards.", hint, id="shop.W001")
        )
    if settings.PAYMENT_TIMEOUT_SECONDS > settings.SHOP_RESERVATION_SECONDS / 4:
        hint = "Buyers would have no time to try another card. Reduce PAYMENT_TIMEOUT_SECONDS."
        found.append(
            Warning("PAYMENT_TIMEOUT_SECONDS is too long for the time of a reservation.", hint, id="shop.W002")
        )
    return found
