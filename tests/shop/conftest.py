"""What every test of the shop finds."""

import pytest
from django.test import Client

from accounts.models import User


@pytest.fixture
def carol(db: None) -> User:
    """Somebody who may do everything in the admin."""
    return User.objects.create_superuser("carol")


@pytest.fixture
def staff(client: Client, carol: User) -> Client:
    """Her browser."""
    client.force_login(carol)
    return client
