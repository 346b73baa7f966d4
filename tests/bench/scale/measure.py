"""Measure the bytes of keys and the cost of commands on a real Redis, with the demo's data as the site wrote it."""

import random
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from django.test import Client
from redis import Redis
from redis.crc import key_slot

from mirror.redis.clients import relay_client
from mirror.redis.recorder import Command, record
from tests.bench.demo_data import PASSWORD, READER, load_demo
from tests.bench.scale.place import VARIABLE, Curve, Load, UnknownFamily
from tools import keys_page

SIZES: Final = [2 * 4**step for step in range(8)]  # members of the grown copies, up to 32,768
REPEATS: Final = 20  # requests of each page, of which the last one is recorded
GROWN: Final = "mirror:lease:grown"
PAGES: Final = {
    "front page": "/", "home timeline": "/home/", "book": "/books/1/", "list of books": "/books/?q=fantasy",
    "search": "/search/?q=river", "person": "/u/Bo%20Lindqvist/", "global timeline": "/global/",
    "shelf": "/shelves/read/", "sale": "/shop/sale/", "cart": "/shop/cart/",
}  # fmt: skip
WRITES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "post": ("/posts/", {"text": "A quiet book for a long evening. #fantasy"}),
    "follow": ("/u/Bo%20Lindqvist/follow/", {}),
    "cart line": ("/shop/cart/", {"product": "1", "quantity": "1"}),
}


class Costs(NamedTuple):
    """Measured costs: bytes by members of each family, and the load of one request by page and family."""

    curves: dict[str, Curve]
    pages: dict[str, dict[str, Load]]


class Families:
    """The documented families of keys. kinds: the type of each by its name in docs/keys.md."""

    def __init__(self) -> None:
        functions = [each for module in keys_page.MODULES for each in keys_page.find_key_functions(module)]
        rows = [keys_page.render_row(function).split(" | ") for function in functions]
        self.kinds = {row[0].strip("| `"): row[1] for row in rows}
        # The longest fixed text comes first, because "login:<name>:id" and "login:" match "login:<user_id>" too.
        names = sorted(self.kinds, key=lambda name: (-len(VARIABLE.sub("", name)), "<" in name))
        self.patterns = {name: re.compile(".*".join(map(re.escape, VARIABLE.split(name)))) for name in names}

    def find(self, key: str) -> str:
        """Return the family of a key. Raises UnknownFamily."""
        found = next((name for name, pattern in self.patterns.items() if pattern.fullmatch(key)), None)
        if found is None:
            raise UnknownFamily(key)
        return found


def measure(families: Families) -> Costs:
    """Load the demo's data, request the pages, and return the costs."""
    load_demo()
    redis = relay_client()
    redis.config_resetstat()
    before = _read_processor_seconds(redis)
    recorded = _record_pages()
    micros, fixed = _read_micros(redis, _read_processor_seconds(redis) - before)
    pages = {page: _sum_up(commands, micros, fixed, families) for page, commands in recorded.items()}
    return Costs(measure_curves(redis, families), pages)


def _record_pages() -> dict[str, list[Command]]:
    """Return the commands of each page and each write, after requests that have filled the caches."""
    browser = Client()
    requests: dict[str, Callable[[], Any]] = {
        "login": partial(browser.post, "/accounts/login/", {"username": READER, "password": PASSWORD}),
        **{page: partial(browser.get, path) for page, path in PAGES.items()},
        **{page: partial(browser.post, path, form) for page, (path, form) in WRITES.items()},
    }
    found = {}
    for page, request in requests.items():
        for _ in range(REPEATS if page in PAGES else 1):
            with record() as seen:
                response = request()
        if response.status_code >= 400:
            raise RuntimeError(f"the page {page} answers {response.status_code}")
        found[page] = seen.commands
    return found


def _read_processor_seconds(redis: Redis) -> float:
    cpu: dict[str, float] = redis.info("cpu")
    return cpu["used_cpu_user"] + cpu["used_cpu_sys"]


def _read_micros(redis: Redis, seconds: float) -> tuple[dict[str, float], float]:
    """Return microseconds by command, and those that each command costs besides (parsing, replies)."""
    stats: dict[str, Any] = redis.info("commandstats")
    micros = {name.removeprefix("cmdstat_").upper(): float(found["usec_per_call"]) for name, found in stats.items()}
    spent = sum(found["usec"] for name, found in stats.items() if name != "cmdstat_exec")  # it contains the others
    calls = sum(found["calls"] for found in stats.values())
    return micros, max(0.0, (seconds * 1e6 - spent) / calls)


def _sum_up(commands: list[Command], micros: Mapping[str, float], fixed: float, families: Families) -> dict[str, Load]:
    """Return the load of each family. A cluster gets one command for each slot of a command's keys."""
    found: defaultdict[str, list[Load]] = defaultdict(list)
    for command in commands:
        # The first key of a slot stands for all of them: a marker for the heartbeat beside it.
        slots = {key_slot(key.encode()): key for key in reversed(command.named()) if key != "None"}
        for key in slots.values():
            found[families.find(key)].append(Load(1, micros.get(command.name, 0.0) / len(slots) + fixed))
    return {family: Load(*map(sum, zip(*loads, strict=True))) for family, loads in found.items()}


def measure_curves(redis: Redis, families: Families) -> dict[str, Curve]:
    """Return the curve of every family with a key: of records the median, of structures copies with more members."""
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key in redis.scan_iter(count=1000):
        keys[families.find(key.decode())].append(key.decode())
    found = {}
    for family, names in keys.items():
        kind = families.kinds[family].partition(" ")[0].lower()
        if kind == "string" or "_<user_id>" in family:  # a reader's bitmap of a month has 32 bits at most
            sizes = [redis.memory_usage(name) or 0 for name in sorted(names)[:200]]
            found[family] = Curve(((1.0, float(statistics.median(sizes))),))
        elif kind == "bitmap":
            found[family] = _grow_bitmap(redis)
        else:
            found[family] = _grow_copies(redis, kind, max(names, key=lambda name: redis.memory_usage(name) or 0))
    return found


def _grow_bitmap(redis: Redis) -> Curve:
    """Return the bytes of bitmaps, which are long, because Redis reserves up to a megabyte more than a value needs."""
    points = []
    for size in SIZES:
        redis.setbit(GROWN, 1024 * size - 1, 1)
        points.append((1024.0 * size, float(redis.memory_usage(GROWN) or 0)))
    redis.delete(GROWN)
    return Curve(tuple(points))


def _grow_copies(redis: Redis, kind: str, key: str) -> Curve:
    """Return the bytes of keys with members of the same form as those of ``key``."""
    redis.delete(GROWN)
    chance, points, members = random.Random(key), [], 0
    add, samples = _open_key(redis, kind, key)
    for size in SIZES:
        pipe = redis.pipeline(transaction=False)
        for _ in range(size - members):
            add(pipe, chance, chance.choice(samples))
        pipe.execute()
        members = size
        points.append((float(size), float(redis.memory_usage(GROWN, samples=50) or 0)))
    redis.delete(GROWN)
    return Curve(tuple(points))


def _open_key(redis: Redis, kind: str, key: str) -> tuple[Callable[[Any, random.Random, Any], Any], list[Any]]:
    """Return a function that adds a varied member to a pipeline, and members of ``key``."""
    match kind:
        case "hash":
            return lambda pipe, chance, pair: pipe.hset(GROWN, _vary(chance, pair[0]), pair[1]), [
                *redis.hgetall(key).items()
            ]
        case "sorted":
            scored = redis.zrange(key, 0, 99, withscores=True)
            return lambda pipe, chance, pair: pipe.zadd(GROWN, {_vary(chance, pair[0]): pair[1]}), scored
        case "set":
            return lambda pipe, chance, member: pipe.sadd(GROWN, _vary(chance, member)), [*redis.sscan_iter(key)]
        case "list":
            return lambda pipe, chance, member: pipe.rpush(GROWN, _vary(chance, member)), redis.lrange(key, 0, 99)
        case "stream":
            entries = [fields for _, fields in redis.xrange(key, count=100)]
            return lambda pipe, _, fields: pipe.xadd(GROWN, fields), entries
    raise UnknownFamily(f"{key} is a {kind}")


def _vary(chance: random.Random, member: bytes) -> bytes:
    """Return another member of this form. Ids get nine digits, as on a large site."""
    if member.isdigit() and len(member) < 9:
        return b"%d" % chance.randrange(10**8, 10**9)
    varied = re.sub(rb"\d", lambda _: b"%d" % chance.randrange(10), member)
    return varied if len(re.findall(rb"\d", member)) > 6 else varied + b"%06d" % chance.randrange(10**6)
