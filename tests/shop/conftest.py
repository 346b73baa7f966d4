"""What every test of the shop finds."""

import pytest

from shop.viewing import halving, popularity


@pytest.fixture(autouse=True)
def long_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """No period in which views count whole ends by itself while a test counts them."""
    for module in (popularity, halving):
        monkeypatch.setattr(module, "PERIOD_SECONDS", 10_000_000)
