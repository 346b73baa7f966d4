"""Read notifications from Redis or, with the same answer, from SQL.

Mirrors of notifications are not strict, so a block may arrive here seconds late. Therefore each page checks the readers
and the targets that it shows against the strict mirrors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

import mirror
from accounts import keys
from accounts.mirrors.users import UserMirror
from accounts.notifications.kinds import Detail, Kind, find_kind, list_hidden_rules
from accounts.notifications.mirrors import NotificationMirror
from accounts.notifications.tables import MAX_COUNTED
from common.ids import parse_ids
from mirror import Place, Record

PAGE_SIZE: Final = 20


class Actor(NamedTuple):
    """A reader who caused a notification. picture: the name of the file, empty without one."""

    id: int
    name: str
    picture: str


@dataclass(frozen=True)
class Shown:
    """A notification as its reader sees it.

    actors: the newest readers. count: the number of readers, at most ``MAX_COUNTED`` if ``is_more``.
    """

    id: int
    kind: Kind
    actors: tuple[Actor, ...]
    count: int
    is_more: bool
    detail: Detail
    time: datetime
    is_unread: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the newest readers."""
        return tuple(actor.name for actor in self.actors)


class NotificationPage(NamedTuple):
    """A page of notifications, the latest first.

    after: the cursor of the next page, None on the last page. unread: the number of all unread ones. seen: the time of
    the latest one on this page, None without any.
    """

    notifications: list[Shown]
    after: str | None
    unread: int
    seen: datetime | None


def count_unread(user_id: int) -> int:
    """Return the number of a reader's unread notifications. 1 round trip or 1 query."""
    return NotificationMirror.count(keys.unread(user_id))


def get_page(user_id: int, after: str = "") -> NotificationPage:
    """Return a page of a reader's notifications. With warm mirrors: at most 4 round trips and no SQL."""
    with mirror.together() as reads:
        places = reads(
            NotificationMirror.page,
            keys.notifications_of(user_id),
            PAGE_SIZE + 1,
            after=_parse_cursor(after),
            descending=True,
        )
        unread = reads(count_unread, user_id)
    on_page = places.value[:PAGE_SIZE]
    records = NotificationMirror.get_many([place.pk for place in on_page])
    shown = show_records(user_id, list(records.values()))
    is_last = len(places.value) <= PAGE_SIZE
    times = [parse_time(record) for record in records.values()]
    return NotificationPage(
        shown, None if is_last else _build_cursor(on_page[-1]), unread.value, max(times, default=None)
    )


def show_records(user_id: int, records: Sequence[Record]) -> list[Shown]:
    """Return the notifications of these records that the reader may see. 2 round trips."""
    actors = {record["id"]: parse_ids(record["actors"].split()) for record in records}
    people = list(dict.fromkeys(actor for of_record in actors.values() for actor in of_record))
    targets: dict[str, list[int]] = {}
    for record in records:
        targets.setdefault(record["kind"], []).append(record["target"])
    with mirror.together() as reads:
        users = reads(UserMirror.get_many, people)
        hidden = [reads(rule, user_id, people) for rule in list_hidden_rules()]
        details = {
            name: reads(kind.find_details, user_id, of_kind)
            for name, of_kind in targets.items()
            if (kind := find_kind(name))
        }
    gone = set[int]().union(*(rule.value for rule in hidden))
    known = {
        pk: Actor(pk, user["name"], user["avatar"])
        for pk, user in users.value.items()
        if user["is_active"] == "1" and pk not in gone
    }
    found = [
        _show(record, [known.get(pk) for pk in actors[record["id"]]], details[record["kind"]].value)
        for record in records
        if record["kind"] in details
    ]
    return [shown for shown in found if shown is not None]


def _show(record: Record, actors: Sequence[Actor | None], details: Mapping[int, Detail]) -> Shown | None:
    """Return a notification, or None if the reader may not see its target or any of its readers."""
    kind, detail = find_kind(record["kind"]), details.get(record["target"])
    visible = tuple(actor for actor in actors if actor is not None)
    if kind is None or detail is None or (kind.has_people and not visible):
        return None
    count = record["count"]
    return Shown(
        id=record["id"],
        kind=kind,
        actors=visible,
        count=min(count, MAX_COUNTED) - (len(actors) - len(visible)),
        is_more=count > MAX_COUNTED,
        detail=detail,
        time=parse_time(record),
        is_unread=record["is_unread"],
    )


def parse_time(record: Record) -> datetime:
    """Return the time of the latest fact of a record."""
    return datetime.fromisoformat(record["last_at"])


def _build_cursor(place: Place) -> str:
    return f"{place.score!r} {place.pk}"


def _parse_cursor(text: str) -> Place | None:
    score, _, pk = text.partition(" ")
    ids = parse_ids([pk])
    try:
        # An invalid cursor means the first page.
        return Place(ids[0], float(score)) if ids and float(score) > 0 else None
    except ValueError:
        return None
