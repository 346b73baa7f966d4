"""The VAT that prices include, by the country of the buyer (``vat_rates.csv``)."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from django.conf import settings

from shop.models.product import VatClass

_FILE: Final = Path(__file__).with_name("vat_rates.csv")
_NO_VAT: Final = Decimal(0)


class Rates(NamedTuple):
    """Rates of VAT in percent."""

    books: Decimal
    standard: Decimal

    def of_class(self, kind: str) -> Decimal:
        """Return the rate of a ``VatClass``."""
        return self.standard if kind == VatClass.STANDARD else self.books


@cache
def load_rates() -> Mapping[str, Rates]:
    """Return the rates by code of the country."""
    with _FILE.open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {row["country"]: Rates(Decimal(row["books"]), Decimal(row["standard"])) for row in rows}


def find_rates(country: str) -> Rates | None:
    """Return the rates of VAT for deliveries to a country, or None if the shop charges no VAT at all.

    A seller in the EU charges the rates of the buyer's member state, and none for other countries.
    """
    if not country or settings.SELLER_COUNTRY not in load_rates():
        return None
    return load_rates().get(country, Rates(_NO_VAT, _NO_VAT))


def compute_included_vat(total: int, rate: Decimal) -> int:
    """Return the VAT in a total that includes it, both in cents, rounded half up."""
    vat = Decimal(total) * rate / (100 + rate)
    return int(vat.quantize(Decimal(1), ROUND_HALF_UP))


def format_rate(rate: Decimal) -> str:
    """Return a rate without trailing zeros: "7" or "5.5"."""
    return f"{rate.normalize():f}"


class IncludedVat(NamedTuple):
    """The VAT that an order includes. lines: rate and VAT in cents of each line; delivery: those of its delivery."""

    lines: Sequence[tuple[Decimal, int]]
    delivery: tuple[Decimal, int]

    @property
    def total(self) -> int:
        """The VAT of the order, in cents: the sum of rounded lines, as on an invoice."""
        return sum(vat for _rate, vat in self.lines) + self.delivery[1]


def compute_vat(country: str, lines: Sequence[tuple[int, str]], delivery_price: int) -> IncludedVat | None:
    """Return the VAT of an order to a country, or None if the shop charges no VAT.

    lines: the total in cents and the ``VatClass`` of each line. Delivery has the rate of the larger part of the goods.
    """
    rates = find_rates(country)
    if rates is None:
        return None
    found = [(rates.of_class(kind), compute_included_vat(total, rates.of_class(kind))) for total, kind in lines]
    standard = sum(total for total, kind in lines if kind == VatClass.STANDARD)
    is_mostly_standard = 2 * standard > sum(total for total, _kind in lines)
    rate = rates.standard if is_mostly_standard else rates.books
    return IncludedVat(found, (rate, compute_included_vat(delivery_price, rate)))


def sum_by_rate(parts: Iterable[tuple[Decimal, int]]) -> dict[str, int]:
    """Return the VAT in cents by rate in words ("7"), the lowest rate first, without rates of nothing."""
    sums: dict[Decimal, int] = {}
    for rate, vat in parts:
        sums[rate] = sums.get(rate, 0) + vat
    return {format_rate(rate): vat for rate, vat in sorted(sums.items())}
