"""What every test of the shop finds."""

import pytest
from django.test import Client

from accounts.models import User
from shop.viewing import halving, popularity


@pytest.fixture(autouse=True)
def long_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """No period in which views count whole ends by itself while a test counts them."""
    for module in (popularity, halving):
        monkeypatch.setattr(module, "PERIOD_SECONDS", 10_000_000)


@pytest.fixture
def carol(db: None) -> User:
    """Somebody who may do everything in the admin."""
    return User.objects.create_superuser("carol")


@pytest.fixture
def staff(client: Client, carol: User) -> Client:
    """Her browser."""
    client.force_login(carol)
    return client
