"""Collect the fields of hashes and JSON records in Redis."""

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson
from redis import Redis

from mirror.redis.clients import relay_client
from mirror.redis.keys import prefix
from mirror.relay.drains import drain_all
from shop.rowcache import rows
from shop.rowcache.daemon import run_once
from shop.services import carts
from tests.names.shapes import Shapes
from tests.support.shop.carts import make_visitor
from tests.support.warm_mirrors import rebuild
from tests.support.world import World
from tools import keys_page

KINDS: Final = {"Hash": "hash", "String (JSON)": "string"}
_DATA: Final = re.compile(r"\d+|[0-9a-f]{32,}")  # ids and digests are data, not names


def collect() -> list[str]:
    """Return lines ``key field: type`` for the keys that mirrors and writes leave in Redis."""
    rebuild()
    world = World()
    carts.set_line(make_visitor(world.staff), 1, 2)
    rows.schedule_row(1, 60.0)
    run_once()
    drain_all()
    shapes, redis = Shapes(), relay_client()
    patterns = list(_patterns())
    for name in redis.scan_iter(count=1000):
        key = name.decode().replace(prefix.current(), "")
        for shown, kind, pattern in patterns:
            if pattern.fullmatch(key) and redis.type(name).decode() == kind:
                shapes.add(shown, _value(redis, name, kind))
                break
    return shapes.lines()


def _patterns() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Yield each key as it is listed, its Redis type, and a pattern that matches real keys."""
    for line in _keys():
        key, _, kind = line.partition(" -> ")
        if kind in KINDS:
            yield key, KINDS[kind], re.compile(re.escape(key).replace("<>", "[^:{}]+"))


def _value(redis: Redis, name: bytes, kind: str) -> Any:
    if kind == "string":
        return orjson.loads(redis.get(name) or b"")
    fields = {field.decode(): value.decode(errors="replace") for field, value in redis.hgetall(name).items()}
    return {"<>" if _DATA.fullmatch(field) else field: value for field, value in fields.items()}


def _keys() -> list[str]:
    """Return lines ``key -> type`` as in docs/keys.md, with ``<>`` for each variable part."""
    rows = [
        keys_page.render_row(function)
        for module in keys_page.MODULES
        for function in keys_page.find_key_functions(module)
    ]
    cells = [row.split(" | ") for row in rows]
    keys = [(re.sub("<[a-z_]+>", "<>", key.removeprefix("| ").strip("`")), kind) for key, kind, *_ in cells]
    return sorted(f"{key} -> {kind}" for key, kind in keys)
