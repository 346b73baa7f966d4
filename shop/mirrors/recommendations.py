"""The mirror of recommendations."""

from collections.abc import Iterable, Sequence
from typing import Any

import mirror
from mirror import Column, Contribution, Family, Mirror, Record, Scored
from mirror.read import RawRecord
from shop import keys
from shop.models import Recommendation


@mirror.register
class RecommendationMirror(Mirror[RawRecord]):
    """The recommendations for a product: a record with their reasons, and the two rankings."""

    model = Recommendation
    key = keys.recommendation("{pk}")
    record_class = RawRecord
    fields = (Column("pk", name="id"), "bought", "viewbuy")

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        pk = record["id"]
        return [
            *(Scored(keys.also_bought(pk), str(other), score) for other, score, *_ in record["bought"]),
            *(Scored(keys.bought_after_view(pk), str(other), score) for other, score, *_ in record["viewbuy"]),
        ]

    def families(self) -> Sequence[Family]:
        return tuple(_make_family(keys_of) for keys_of in (keys.also_bought, keys.bought_after_view))


def _make_family(key_of: Any) -> Family:
    start, _, end = key_of("\0").partition("\0")
    return Family(start, "zset", lambda key, member: key[len(start) : len(key) - len(end)], end=end)
