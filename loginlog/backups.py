"""The backup of the login log. Bitmaps are written to Redis first and merged into SQL by OR."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from loginlog import days, keys
from loginlog.corrections import removal
from loginlog.models import Number
from loginlog.storage import bitmaps, scripts, tombstones, walk
from loginlog.storage import sql as store
from loginlog.storage.items import (
    DAY_PREFIX,
    MONTH_PREFIX,
    BadItem,
    DaySegment,
    DenseIdSegment,
    Item,
    LoginMonth,
    parse_item,
)
from loginlog.storage.tombstones import Known, Tombstones
from mirror.backup import Backup, register, scan_keys
from mirror.redis import RedisClient, Session, tag_of

Value = bytes | Known
SEGMENTS_PER_ROUND_TRIP: Final = 200  # segments per round trip


@register
class LoginLogBackup(Backup):
    """Items are the months of users and the segments of days (``loginlog.storage.items``).

    Redis may lack items that are old enough to have expired, and the bitmaps of dense ids; their value is the union of
    Redis and SQL. The value of all other items is that of Redis, because readers ask only Redis for them.
    """

    name = scripts.BACKUP_NAME
    label = _("login log")
    every_seconds = float(settings.LOGINLOG_SYNC_SECONDS)
    whole = True

    def read(self, redis: RedisClient, items: Sequence[str]) -> dict[str, Value]:
        """Return values without erased and removed bits. Clear such bits in Redis as well."""
        parsed = _parse_items(items)
        # Read before the bits: a user that is erased and logs in again meanwhile gets a new dense id, and SQL refuses
        # bits of the old one.
        owners = _find_dense_ids([item for item in parsed if isinstance(item, LoginMonth)])
        found: dict[str, Value] = {}
        for at in range(0, len(parsed), SEGMENTS_PER_ROUND_TRIP):
            part = parsed[at : at + SEGMENTS_PER_ROUND_TRIP]
            pipe = redis.pipeline(transaction=False)
            for item in part:
                start = 0 if isinstance(item, LoginMonth) else item.offset
                pipe.getrange(item.key, start, start + bitmaps.SEGMENT_BYTES - 1)
            for item, raw in zip(part, pipe.execute(), strict=True):
                if isinstance(item, LoginMonth):
                    if raw and item.user_id in owners:
                        found[item.name] = Known(owners[item.user_id], bitmaps.parse_month(raw))
                elif bits := bitmaps.strip_zeros(raw):
                    found[item.name] = bits
        found = _clear_dead_bits(redis, found)
        first = days.first_complete_month()
        return _merge_with_sql(found, self.load([item.name for item in parsed if _may_have_expired(item, first)]))

    def save(self, values: Mapping[str, Value | None]) -> None:
        of_users, of_days = _split_by_kind(values)
        store.merge_bitmaps(of_users, of_days)

    def kept(self, values: Mapping[str, Value | None]) -> list[str]:
        """Return the items of which SQL has every bit, apart from bits that were erased or removed meanwhile."""
        known, parsed = self.load(list(values)), _parse_items(list(values))
        owners = _find_dense_ids([item for item in parsed if isinstance(item, LoginMonth)])
        gone = _find_tombstones(values)
        return [item.name for item in parsed if _is_saved(known.get(item.name), values[item.name], item, owners, gone)]

    def load(self, items: Sequence[str]) -> dict[str, Value]:
        parsed = _parse_items(items)
        of_users = store.read_months([item for item in parsed if isinstance(item, LoginMonth)])
        of_days = store.read_segments([item for item in parsed if isinstance(item, DaySegment)])
        of_all = store.read_dense_ids([item for item in parsed if isinstance(item, DenseIdSegment)])
        found: dict[str, Value] = {item.name: known for item, known in of_users.items()}
        found |= {item.name: bitmaps.strip_zeros(raw) for item, raw in of_days.items()}
        found |= {item.name: bitmaps.strip_zeros(raw) for item, raw in of_all.items()}
        return {name: value for name, value in found.items() if value}

    def put_back(self, redis: RedisClient, values: Mapping[str, Value]) -> None:
        parsed = {parse_item(name): value for name, value in values.items()}
        of_users = {i: v for i, v in parsed.items() if isinstance(i, LoginMonth) and isinstance(v, Known)}
        of_days = {i: v for i, v in parsed.items() if isinstance(i, DaySegment) and isinstance(v, bytes)}
        of_all = {i: v for i, v in parsed.items() if isinstance(i, DenseIdSegment) and isinstance(v, bytes)}
        scripts.merge_into_redis(redis, of_users, of_all, of_days)
        removal.apply_removals_of(redis, list(parsed))

    def items_after(self, after: str | None, limit: int) -> list[str]:
        return [item.name for item in walk.find_items_after(parse_item(after) if after else None, limit)]

    def items_lost(self, after: str | None, limit: int) -> list[str]:
        """Return items from the first month on that readers ask only Redis for; older items are read from SQL."""
        first = days.month_of(days.today() - timedelta(days=days.MIN_DAYS_IN_REDIS))
        return [item.name for item in walk.find_items_after(parse_item(after) if after else None, limit, first)]

    def scan(self, redis: RedisClient) -> Iterator[list[str]]:
        with Session(redis) as session:
            tag = tag_of("loginlog")
            for found in scan_keys(session):
                own = [key.removeprefix(tag) for key in found if key.startswith(tag)]
                names = [name for name in own if name.startswith(MONTH_PREFIX)]
                whole = [name for name in own if name.startswith(DAY_PREFIX)]
                sizes = session.ask([("STRLEN", tag + name) for name in whole]) if whole else []
                for key, size in zip(whole, sizes, strict=True):
                    segments = range(-(-size // bitmaps.SEGMENT_BYTES))
                    names += [f"{key}:{segment}" for segment in segments]
                yield [name for name in names if _is_item(name)]

    def is_stray(self, items: Sequence[str]) -> list[str]:
        """Return the months of erased users, which have no dense id."""
        months = [item for item in _parse_items(items) if isinstance(item, LoginMonth)]
        owners = _find_dense_ids(months)
        return [item.name for item in months if item.user_id not in owners]

    def drop(self, redis: RedisClient, items: Sequence[str]) -> None:
        redis.delete(*(item.key for item in _parse_items(items)))


def _parse_items(items: Sequence[str]) -> list[Item]:
    return [parse_item(name) for name in items]


def _is_item(name: str) -> bool:
    try:
        parse_item(name)
    except BadItem:
        return False
    return True


def _may_have_expired(item: Item, first: Any) -> bool:
    """Return whether Redis may lack bits of the item."""
    match item:
        case LoginMonth():
            return item.month < first
        case DaySegment():
            return item.day < first
        case _:
            return True


def _find_dense_ids(items: Sequence[LoginMonth]) -> dict[int, int]:
    """Return the dense ids of the users of these months, by user id."""
    users = {item.user_id for item in items}
    return dict(Number.objects.filter(user_id__in=users).values_list("user_id", "pk")) if users else {}


def _find_tombstones(values: Mapping[str, Value | None]) -> Tombstones:
    of_users, of_days = _split_by_kind(values)
    return tombstones.find_tombstones(of_users.values(), of_days)


def _clear_dead_bits(redis: RedisClient, found: dict[str, Value]) -> dict[str, Value]:
    """Return the values without erased and removed bits, and clear these bits in Redis.

    SQL is read after Redis, because a mark lifts a removal before it sets the bit.
    """
    gone = _find_tombstones(found)
    rest = {name: _without_dead_bits(gone, parse_item(name), value) for name, value in found.items()}
    dirty = [parse_item(name) for name, value in found.items() if rest[name] != value]
    for item in dirty:
        if isinstance(item, DaySegment) and (erased := gone.erased.get(item.segment)):
            numbers = bitmaps.list_positions(erased, item.segment * bitmaps.SEGMENT)
            scripts.clear_bits(redis, [item.key, keys.population()], numbers.tolist())
    removal.apply_removals_of(redis, dirty)
    return {name: value for name, value in rest.items() if value and (isinstance(value, bytes) or value.bits)}


def _without_dead_bits(gone: Tombstones, item: Item, value: Value) -> Value:
    if isinstance(item, LoginMonth) and isinstance(value, Known):
        return gone.filter_month(item, value)
    if isinstance(item, DaySegment) and isinstance(value, bytes):
        return gone.filter_segment(item, value)
    return value


def _merge_with_sql(found: dict[str, Value], known: Mapping[str, Value]) -> dict[str, Value]:
    """Return the union of the values in Redis (``found``) and in SQL (``known``)."""
    for name, value in known.items():
        said = found.get(name)
        if isinstance(value, Known):
            bits = said.bits if isinstance(said, Known) and said.number == value.number else 0
            found[name] = Known(value.number, value.bits | bits)
        else:
            found[name] = bitmaps.union([value, said if isinstance(said, bytes) else b""])
    return {name: value for name, value in found.items() if value}


def _split_by_kind(values: Mapping[str, Value | None]) -> tuple[dict[LoginMonth, Known], dict[DaySegment, bytes]]:
    """Separate months from segments, without items that have no value: a merge only adds bits."""
    of_users: dict[LoginMonth, Known] = {}
    of_days: dict[DaySegment, bytes] = {}
    for name, value in values.items():
        item = parse_item(name)
        if isinstance(item, LoginMonth) and isinstance(value, Known):
            of_users[item] = value
        elif isinstance(item, DaySegment) and isinstance(value, bytes):
            of_days[item] = value
    return of_users, of_days


def _is_saved(
    known: Value | None, value: Value | None, item: Item, owners: Mapping[int, int], gone: Tombstones
) -> bool:
    """Return whether SQL has every bit of a value, apart from erased and removed bits."""
    if isinstance(item, LoginMonth) and isinstance(value, Known):
        if owners.get(item.user_id) != value.number:
            return True  # erased
        wanted = gone.filter_month(item, value).bits
        return not wanted or (isinstance(known, Known) and known.number == value.number and not wanted & ~known.bits)
    if isinstance(item, DaySegment) and isinstance(value, bytes):
        return bitmaps.covers(known if isinstance(known, bytes) else b"", gone.filter_segment(item, value))
    return True
