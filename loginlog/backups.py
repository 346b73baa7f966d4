"""The backup of the login log. Bitmaps are written to Redis first and merged into SQL by OR."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.conf import settings

from loginlog import bitmaps, days, keys, scripts, store, tombstones, unmarking, walk
from loginlog.items import DAY, MONTH, BadItem, Item, Month, Numbers, Segment, parse
from loginlog.models import Number
from loginlog.tombstones import Known, Tombstones
from mirror import scan
from mirror.backup import Backup, register
from mirror.session import Session

Value = bytes | Known
STEP: Final = 200  # segments per round trip


@register
class LoginLogBackup(Backup):
    """Items are the months of users and the segments of days (``loginlog.items``).

    Redis may lack items that are old enough to have expired, and the bitmaps of dense ids; their value is the union of
    Redis and SQL. The value of all other items is that of Redis, because readers ask only Redis for them.
    """

    name = scripts.BACKUP
    every_seconds = float(settings.LOGINLOG_SYNC_SECONDS)
    whole = True

    def read(self, redis: Any, items: Sequence[str]) -> dict[str, Value]:
        """Return values without erased and removed bits. Clear such bits in Redis as well."""
        parsed = _parsed(items)
        # Read before the bits: a user that is erased and logs in again meanwhile gets a new dense id, and SQL refuses
        # bits of the old one.
        owners = _owners([item for item in parsed if isinstance(item, Month)])
        found: dict[str, Value] = {}
        for at in range(0, len(parsed), STEP):
            part = parsed[at : at + STEP]
            pipe = redis.pipeline(transaction=False)
            for item in part:
                start = 0 if isinstance(item, Month) else item.offset
                pipe.getrange(item.key, start, start + bitmaps.SEGMENT_BYTES - 1)
            for item, raw in zip(part, pipe.execute(), strict=True):
                if isinstance(item, Month):
                    if raw and item.user_id in owners:
                        found[item.name] = Known(owners[item.user_id], bitmaps.month_bits(raw))
                elif bits := bitmaps.short(raw):
                    found[item.name] = bits
        found = _wiped(redis, found)
        first = days.floor()
        return _together(found, self.load([item.name for item in parsed if _may_be_gone(item, first)]))

    def save(self, values: Mapping[str, Value | None]) -> None:
        of_users, of_days = _split(values)
        store.merge(of_users, of_days)

    def kept(self, values: Mapping[str, Value | None]) -> list[str]:
        """Return the items of which SQL has every bit, apart from bits that were erased or removed meanwhile."""
        known, parsed = self.load(list(values)), _parsed(list(values))
        owners = _owners([item for item in parsed if isinstance(item, Month)])
        gone = _tombstones(values)
        return [item.name for item in parsed if _has(known.get(item.name), values[item.name], item, owners, gone)]

    def load(self, items: Sequence[str]) -> dict[str, Value]:
        parsed = _parsed(items)
        of_users = store.months([item for item in parsed if isinstance(item, Month)])
        of_days = store.segments([item for item in parsed if isinstance(item, Segment)])
        of_all = store.numbers([item for item in parsed if isinstance(item, Numbers)])
        found: dict[str, Value] = {item.name: known for item, known in of_users.items()}
        found |= {item.name: bitmaps.short(raw) for item, raw in of_days.items()}
        found |= {item.name: bitmaps.short(raw) for item, raw in of_all.items()}
        return {name: value for name, value in found.items() if value}

    def put_back(self, redis: Any, values: Mapping[str, Value]) -> None:
        parsed = {parse(name): value for name, value in values.items()}
        of_users = {i: v for i, v in parsed.items() if isinstance(i, Month) and isinstance(v, Known)}
        of_days = {i: v for i, v in parsed.items() if isinstance(i, Segment) and isinstance(v, bytes)}
        of_all = {i: v for i, v in parsed.items() if isinstance(i, Numbers) and isinstance(v, bytes)}
        scripts.put(redis, of_users, of_all, of_days)
        unmarking.clean_items(redis, list(parsed))

    def items_after(self, after: str | None, limit: int) -> list[str]:
        return [item.name for item in walk.after(parse(after) if after else None, limit)]

    def items_lost(self, after: str | None, limit: int) -> list[str]:
        """Return items from the first month on that readers ask only Redis for; older items are read from SQL."""
        first = days.month_of(days.today() - timedelta(days=days.LEAST_DAYS))
        return [item.name for item in walk.after(parse(after) if after else None, limit, first)]

    def scan(self, redis: Any) -> Iterator[list[str]]:
        with Session(redis) as session:
            for found in scan.keys(session):
                names = [key for key in found if key.startswith(MONTH)]
                whole = [key for key in found if key.startswith(DAY)]
                sizes = session.ask([("STRLEN", key) for key in whole]) if whole else []
                for key, size in zip(whole, sizes, strict=True):
                    segments = range(-(-size // bitmaps.SEGMENT_BYTES))
                    names += [f"{key}:{segment}" for segment in segments]
                yield [name for name in names if _is_item(name)]

    def is_stray(self, items: Sequence[str]) -> list[str]:
        """Return the months of erased users, which have no dense id."""
        months = [item for item in _parsed(items) if isinstance(item, Month)]
        owners = _owners(months)
        return [item.name for item in months if item.user_id not in owners]

    def drop(self, redis: Any, items: Sequence[str]) -> None:
        redis.delete(*(item.key for item in _parsed(items)))


def _parsed(items: Sequence[str]) -> list[Item]:
    return [parse(name) for name in items]


def _is_item(name: str) -> bool:
    try:
        parse(name)
    except BadItem:
        return False
    return True


def _may_be_gone(item: Item, first: Any) -> bool:
    """Return whether Redis may lack bits of the item."""
    match item:
        case Month():
            return item.month < first
        case Segment():
            return item.day < first
        case _:
            return True


def _owners(items: Sequence[Month]) -> dict[int, int]:
    """Return the dense ids of the users of these months, by user id."""
    users = {item.user_id for item in items}
    return dict(Number.objects.filter(user_id__in=users).values_list("user_id", "pk")) if users else {}


def _tombstones(values: Mapping[str, Value | None]) -> Tombstones:
    of_users, of_days = _split(values)
    return tombstones.find(of_users.values(), of_days)


def _wiped(redis: Any, found: dict[str, Value]) -> dict[str, Value]:
    """Return the values without erased and removed bits, and clear these bits in Redis.

    SQL is read after Redis, because a mark lifts a removal before it sets the bit.
    """
    gone = _tombstones(found)
    rest = {name: _rest(gone, parse(name), value) for name, value in found.items()}
    dirty = [parse(name) for name, value in found.items() if rest[name] != value]
    for item in dirty:
        if isinstance(item, Segment) and (erased := gone.erased.get(item.segment)):
            numbers = bitmaps.numbers(erased, item.segment * bitmaps.SEGMENT)
            scripts.clear_bits(redis, [item.key, keys.population()], numbers.tolist())
    unmarking.clean_items(redis, dirty)
    return {name: value for name, value in rest.items() if value and (isinstance(value, bytes) or value.bits)}


def _rest(gone: Tombstones, item: Item, value: Value) -> Value:
    if isinstance(item, Month) and isinstance(value, Known):
        return gone.rest_of_month(item, value)
    if isinstance(item, Segment) and isinstance(value, bytes):
        return gone.rest_of_day(item, value)
    return value


def _together(found: dict[str, Value], known: Mapping[str, Value]) -> dict[str, Value]:
    """Return the union of the values in Redis (``found``) and in SQL (``known``)."""
    for name, value in known.items():
        said = found.get(name)
        if isinstance(value, Known):
            bits = said.bits if isinstance(said, Known) and said.number == value.number else 0
            found[name] = Known(value.number, value.bits | bits)
        else:
            found[name] = bitmaps.union([value, said if isinstance(said, bytes) else b""])
    return {name: value for name, value in found.items() if value}


def _split(values: Mapping[str, Value | None]) -> tuple[dict[Month, Known], dict[Segment, bytes]]:
    """Separate months from segments, without items that have no value: a merge only adds bits."""
    of_users: dict[Month, Known] = {}
    of_days: dict[Segment, bytes] = {}
    for name, value in values.items():
        item = parse(name)
        if isinstance(item, Month) and isinstance(value, Known):
            of_users[item] = value
        elif isinstance(item, Segment) and isinstance(value, bytes):
            of_days[item] = value
    return of_users, of_days


def _has(known: Value | None, value: Value | None, item: Item, owners: Mapping[int, int], gone: Tombstones) -> bool:
    """Return whether SQL has every bit of a value, apart from erased and removed bits."""
    if isinstance(item, Month) and isinstance(value, Known):
        if owners.get(item.user_id) != value.number:
            return True  # erased
        wanted = gone.rest_of_month(item, value).bits
        return not wanted or (isinstance(known, Known) and known.number == value.number and not wanted & ~known.bits)
    if isinstance(item, Segment) and isinstance(value, bytes):
        return bitmaps.covers(known if isinstance(known, bytes) else b"", gone.rest_of_day(item, value))
    return True
