"""Place the keys of a site on the nodes of a Redis Cluster by the real slots."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from tests.bench.scale.families import Activity, Growth

SAMPLE: Final = 10_000  # keys of a family that are placed one by one
HEAD: Final = SAMPLE // 4  # of these, the keys with the highest ranks, which stand for themselves
VARIABLE: Final = re.compile("<[a-z_]+>")
ONE_SLOT: Final = re.compile(r"[^{]*\{[^<{}]+\}.*<")  # many keys with a constant hash tag


class UnknownFamily(ValueError):
    """A documented family of keys has no row in the table of growths, or a row has no family."""


class Curve(NamedTuple):
    """Measured bytes of a key by its number of members, ascending."""

    points: tuple[tuple[float, float], ...]

    def at(self, members: float) -> float:
        """Return the bytes, between two points on a line, and beyond the last one in proportion."""
        after = bisect_left(self.points, (members, 0.0))
        if after == len(self.points):
            last, size = self.points[-1]
            return size * members / last if last > 1 else size
        if after == 0:
            return self.points[0][1]
        (low, small), (high, large) = self.points[after - 1 : after + 1]
        return small + (large - small) * (members - low) / (high - low)


class Load(NamedTuple):
    """Commands, and microseconds of the server's processor."""

    commands: float = 0.0
    micros: float = 0.0


@dataclass
class Total:
    """The sum over keys. size: bytes. commands, micros: in a second."""

    keys: float = 0.0
    size: float = 0.0
    commands: float = 0.0
    micros: float = 0.0

    def add(self, weight: float, size: float, load: Load) -> None:
        """Add ``weight`` keys of this size, which cause this load together."""
        self.keys += weight
        self.size += weight * size
        self.commands += load.commands
        self.micros += load.micros


class Single(NamedTuple):
    """A key that is not part of a sample, or all keys of a family that share one slot."""

    name: str
    node: int
    members: float
    size: float
    load: Load


@dataclass
class Placement:
    """families: totals by name. nodes: totals by number. singles: keys that stand for themselves."""

    nodes: list[Total]
    families: dict[str, Total] = field(default_factory=dict)
    singles: list[Single] = field(default_factory=list)

    def sum_up(self) -> Total:
        """Return the sum over all nodes."""
        names = ("keys", "size", "commands", "micros")
        return Total(*(sum(getattr(node, name) for node in self.nodes) for name in names))

    @property
    def hottest(self) -> int:
        """The number of the node with the most work for its processor."""
        return max(range(len(self.nodes)), key=lambda number: self.nodes[number].micros)


def find_node(key: str, nodes: int) -> int:
    """Return the number of the node that has a key, if all nodes have equal ranges of slots."""
    return key_slot(key.encode()) * nodes // REDIS_CLUSTER_HASH_SLOTS


def name_key(family: str, rank: int) -> str:
    """Return the name of a key: digests are digests, and other variables are numbers."""
    return VARIABLE.sub(lambda found: sha256(b"%d" % rank).hexdigest() if found[0] == "<digest>" else str(rank), family)


def sample_ranks(count: float) -> Iterator[tuple[float, float]]:
    """Yield ranks, from 0.5, and the number of keys for which each stands. The highest ranks stand for themselves."""
    total = math.ceil(count)
    if total <= SAMPLE:
        yield from ((rank + 0.5, 1.0) for rank in range(total))
        return
    yield from ((rank + 0.5, 1.0) for rank in range(HEAD))
    weight = (total - HEAD) / (SAMPLE - HEAD)
    yield from ((HEAD + (step + 0.5) * weight, weight) for step in range(SAMPLE - HEAD))


def place(
    growths: Mapping[str, Growth], documented: Mapping[str, object], curves: Mapping[str, Curve],
    loads: Mapping[str, Load], nodes: int, seed: int = 0,
) -> Placement:  # fmt: skip
    """Place every documented family. loads: of a family in a second. Raises UnknownFamily."""
    if unknown := growths.keys() ^ documented.keys():
        raise UnknownFamily(", ".join(sorted(unknown)))
    # The demo has no key of these: their rows have to name another family.
    unmeasured = {family for family, growth in growths.items() if growth.total and growth.like not in curves}
    if unmeasured:
        raise UnknownFamily(f"not measured: {', '.join(sorted(unmeasured))}")
    placed = Placement([Total() for _ in range(nodes)])
    for family, growth in growths.items():
        total = placed.families[family] = Total()
        ranks = list(sample_ranks(growth.total))
        heats = [weight * (growth.heat.of_rank(rank, growth.total) if growth.heat else 1) for rank, weight in ranks]
        whole, load = sum(heats), loads.get(family, Load())
        for (rank, weight), heat in zip(ranks, heats, strict=True):
            name = name_key(family, int(rank) + seed)
            many = growth.members
            members = many.of_rank(rank, growth.total) if isinstance(many, Activity) else many
            size = curves[growth.like].at(members)
            own = Load(load.commands * heat / whole, load.micros * heat / whole)
            node = find_node(name, nodes)
            for sums in (total, placed.nodes[node]):
                sums.add(weight, size, own)
            if weight == 1 and not ONE_SLOT.match(family):
                placed.singles.append(Single(name, node, members, size, own))
        if ONE_SLOT.match(family) and growth.total:
            load = Load(total.commands, total.micros)
            placed.singles.append(Single(f"{family} (all)", node, total.keys, total.size, load))
    return placed
