"""Fixtures for all tests of the shop."""

import pytest
from django.test import Client

from accounts.models import User


@pytest.fixture
def carol(db: None) -> User:
    """A superuser."""
    return User.objects.create_superuser("carol")


@pytest.fixture
def staff(client: Client, carol: User) -> Client:
    """A client in which carol is logged in."""
    client.force_login(carol)
    return client
