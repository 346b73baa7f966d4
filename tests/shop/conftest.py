"""What every test of the shop finds."""

import pytest
from django.test import Client

from accounts.models import User
from shop.services import confirming, settle
from shop.viewing import halving, popularity


@pytest.fixture(autouse=True)
def long_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """No period in which views count whole ends by itself while a test counts them."""
    for module in (popularity, halving):
        monkeypatch.setattr(module, "PERIOD_SECONDS", 10_000_000)


@pytest.fixture(autouse=True)
def long_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round does all that there is to do, however long that takes."""
    monkeypatch.setattr(settle, "ASK_SECONDS", 3600.0)
    monkeypatch.setattr(confirming, "ROUND_SECONDS", 3600.0)


@pytest.fixture
def carol(db: None) -> User:
    """Somebody who may do everything in the admin."""
    return User.objects.create_superuser("carol")


@pytest.fixture
def staff(client: Client, carol: User) -> Client:
    """Her browser."""
    client.force_login(carol)
    return client
