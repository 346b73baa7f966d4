"""The VAT that prices include, by the country of the buyer (``vat_rates.csv``)."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def share_out(amount: int, parts: Sequence[int]) -> list[int]:
    """Return the share of each part in an amount, in proportion to the parts. The shares add up to the amount."""
    whole, before, shares = sum(parts), 0, []
    for part in parts:
        # The difference of two rounded sums: no share is negative, or larger than its part while the amount is not.
        shares.append(_round_share(amount, before + part, whole) - _round_share(amount, before, whole))
        before += part
    return shares


def _round_share(amount: int, part: int, whole: int) -> int:
    """Return ``amount * part / whole``, rounded half up. A whole of 0 has no shares."""
    return (2 * amount * part + whole) // (2 * whole) if whole else 0


def split_vat(
    parts: Sequence[tuple[int, Decimal]], compute: Callable[[int, Decimal], int] = compute_included_vat
) -> list[int]:
    """Return the VAT of each part of an order or a refund, from its total in cents and its rate.

    The VAT is computed once for each rate, from the sum of its totals, as on an invoice. The parts share it.
    """
    by_rate: defaultdict[Decimal, list[int]] = defaultdict(list)
    for position, (_total, rate) in enumerate(parts):
        by_rate[rate].append(position)
    found = [0] * len(parts)
    for rate, positions in by_rate.items():
        totals = [parts[position][0] for position in positions]
        for position, vat in zip(positions, share_out(compute(sum(totals), rate), totals), strict=True):
            found[position] = vat
    return found


class TaxLeft(NamedTuple):
    """What refunds have left of an order at one rate: the amount with VAT, and the VAT in it, in cents."""

    rate: Decimal
    amount: int
    vat: int

    def compute_refunded(self, amount: int) -> int:
        """Return the VAT of a refund: that of its amount. The last refund takes what is left.

        Rounded amounts of many refunds would drift from the VAT of the order, so what is left after a refund is never
        more than a cent from the VAT of its amount.
        """
        rest = self.amount - amount
        fitting = self.vat - compute_included_vat(rest, self.rate)
        # Orders from before the sum by rate may have drifted by more than a cent already.
        drift = max(1, abs(self.vat - compute_included_vat(self.amount, self.rate))) if rest else 0
        vat = _clamp(compute_included_vat(amount, self.rate), fitting - drift, fitting + drift)
        return _clamp(vat, max(0, self.vat - rest), min(self.vat, amount))


def _clamp(value: int, lowest: int, highest: int) -> int:
    return max(lowest, min(value, highest))


class IncludedVat(NamedTuple):
    """The VAT that an order includes. lines: rate and VAT in cents of each line; delivery: those of its delivery."""

    lines: Sequence[tuple[Decimal, int]]
    delivery: tuple[Decimal, int]

    @property
    def total(self) -> int:
        """The VAT of the order, in cents."""
        return sum(vat for _rate, vat in self.lines) + self.delivery[1]


def compute_vat(country: str, lines: Sequence[tuple[int, str]], delivery_price: int) -> IncludedVat | None:
    """Return the VAT of an order to a country, or None if the shop charges no VAT.

    lines: the total in cents and the ``VatClass`` of each line. Delivery has the rate of the larger part of the goods.
    """
    rates = find_rates(country)
    if rates is None:
        return None
    standard = sum(total for total, kind in lines if kind == VatClass.STANDARD)
    is_mostly_standard = 2 * standard > sum(total for total, _kind in lines)
    rate = rates.standard if is_mostly_standard else rates.books
    parts = [*((total, rates.of_class(kind)) for total, kind in lines), (delivery_price, rate)]
    vat = split_vat(parts)
    *found, delivery = [(rate, cents) for (_total, rate), cents in zip(parts, vat, strict=True)]
    return IncludedVat(found, delivery)


def sum_by_rate(parts: Iterable[tuple[Decimal, int]], country: str) -> dict[str, int]:
    """Return the VAT in cents by rate in words ("7"), the lowest rate first.

    Deliveries to a member state have a rate, even of 0. Those to other countries have none.
    """
    if country not in load_rates():
        return {}
    sums: dict[Decimal, int] = {}
    for rate, vat in parts:
        sums[rate] = sums.get(rate, 0) + vat
    return {format_rate(rate): vat for rate, vat in sorted(sums.items())}
