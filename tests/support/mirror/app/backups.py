"""Two backups, one complete and one partial, and the writes that go with them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redis import Redis
from redis.client import Pipeline

from mirror.backup import Backup, access, guarded, marks, register, script
from mirror.backup.registry import get
from mirror.redis.scripts import Script
from tests.support.mirror.app.models import Basket, Best

_LUA = Path(__file__).parent / "lua"
_score = script(_LUA / "score.lua")
_put = guarded(_LUA / "put.lua")
_restore_scores = Script(_LUA / "restore_scores.lua")
_restore_baskets = Script(_LUA / "restore_baskets.lua")


@register
class BestBackup(Backup):
    """``tbest``: a sorted set of players by their best score. The greater score wins. Redis has all of them."""

    name = "tbest"
    whole = True

    def key_of(self, item: str) -> str:
        return "tbest"

    def ask(self, pipe: Pipeline, items: Sequence[str]) -> None:
        pipe.zmscore("tbest", list(items))

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, int]:
        return {item: int(score) for item, score in zip(items, replies[0], strict=True) if score is not None}

    def save(self, values: Mapping[str, int | None]) -> None:
        Best.objects.filter(player__in=[item for item, value in values.items() if value is None]).delete()
        known = self.load(list(values))
        better = [Best(player=i, score=v) for i, v in values.items() if v is not None and v > known.get(i, -1)]
        Best.objects.bulk_create(better, update_conflicts=True, unique_fields=["player"], update_fields=["score"])

    def load(self, items: Sequence[str]) -> Mapping[str, int]:
        return dict(Best.objects.filter(player__in=items).values_list("player", "score"))

    def put_back(self, redis: Redis, values: Mapping[str, int]) -> None:
        _restore_scores(redis, ["tbest"], [part for item, value in values.items() for part in (value, item)])

    def items_after(self, after: str | None, limit: int) -> list[str]:
        rows = Best.objects.order_by("player")
        if after is not None:
            rows = rows.filter(player__gt=after)
        return list(rows.values_list("player", flat=True)[:limit])

    def scan(self, redis: Redis) -> Iterator[list[str]]:
        for member, _ in redis.zscan_iter("tbest"):
            yield [member.decode()]

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        return [item for item in items if item.startswith("nobody")]

    def drop(self, redis: Redis, items: Sequence[str]) -> None:
        redis.zrem("tbest", *items)


class Content(NamedTuple):
    """The lines of a basket, and their version in microseconds. The later version wins. An empty basket is kept."""

    version: int
    lines: dict[str, int]


@register
class BasketBackup(Backup):
    """``tbasket:<name>``: a hash with quantities and a version. Redis may lack some of the baskets."""

    name = "tbasket"

    def key_of(self, item: str) -> str:
        return f"tbasket:{item}"

    def ask(self, pipe: Pipeline, items: Sequence[str]) -> None:
        for item in items:
            pipe.hgetall(f"tbasket:{item}")

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, Content]:
        found = {}
        for item, reply in zip(items, replies, strict=True):
            if reply:
                fields = {name.decode(): int(value) for name, value in reply.items()}
                found[item] = Content(fields.pop("version"), fields)
        return found

    def save(self, values: Mapping[str, Content | None]) -> None:
        assert None not in values.values(), "a basket is never nothing"
        known = self.load(list(values))
        newer = [
            Basket(name=item, version=value.version, lines=json.dumps(value.lines))
            for item, value in values.items()
            if value is not None and (item not in known or value.version > known[item].version)
        ]
        Basket.objects.bulk_create(
            newer, update_conflicts=True, unique_fields=["name"], update_fields=["version", "lines"]
        )

    def load(self, items: Sequence[str]) -> Mapping[str, Content]:
        rows = Basket.objects.filter(name__in=items).values_list("name", "version", "lines")
        return {name: Content(version, json.loads(lines)) for name, version, lines in rows}

    def put_back(self, redis: Redis, values: Mapping[str, Content]) -> None:
        for item, value in values.items():
            flat = [part for line in value.lines.items() for part in line]
            _restore_baskets(redis, [f"tbasket:{item}"], [value.version, *flat])

    def items_after(self, after: str | None, limit: int) -> list[str]:
        rows = Basket.objects.order_by("name")
        if after is not None:
            rows = rows.filter(name__gt=after)
        return list(rows.values_list("name", flat=True)[:limit])

    def scan(self, redis: Redis) -> Iterator[list[str]]:
        start = "tbasket:"
        for name in redis.scan_iter(f"{start}*", count=1000):
            yield [name.decode().removeprefix(start)]


def best() -> Backup:
    """Return the backup of the ranking."""
    return get("tbest")


def baskets() -> Backup:
    """Return the backup of the baskets."""
    return get("tbasket")


def play(redis: Redis, player: str, score: int) -> None:
    """Write a score to Redis, if it is the player's best one. A score below zero removes the player."""
    marks.note_marked(best(), redis, [player])
    _score(redis, ["tbest", best().marks_of(player)], [player, score])


def put(basket: str, line: str, quantity: int, redis: Redis | None = None) -> int:
    """Set a line of a basket in Redis, or remove it with quantity 0. Return the number of lines."""
    keys = [f"tbasket:{basket}", baskets().marks_of(basket)]
    return int(access.write(baskets(), [basket], _put, keys, [basket, line, quantity], redis=redis))
