"""The mirror of the login log: a bitmap for each month of a user, and one for each day with a bit for each user."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

import mirror
from loginlog import keys
from loginlog.models import LoginMonth
from loginlog.names import DAY_PREFIX, add_tag, is_name, make_month_key
from loginlog.storage import bitmaps, numbers
from mirror import Bit, Family, Mirror, Watch
from mirror.conf import database

NAME: Final = "login_month"


@mirror.register
class LoginMonthMirror(Mirror):
    """The record is the bitmap of the month. Each of its days contributes the user's bit to the bitmap of the day.

    Dense ids never change, so the entries depend on key and record alone although SQL knows the dense ids.
    """

    name = NAME
    label = _("login months")
    model = LoginMonth
    record_kind = "bitmap"
    watches = (Watch(LoginMonth, only=("bits", "is_expired")),)

    def record_key(self, pk: str) -> str:
        return make_month_key(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, int]:
        rows = LoginMonth.objects.using(database()).with_logins().filter(pk__in=pks, is_expired=False)
        found: dict[str, int] = {}
        for pk, bits, user_id, number in rows.values_list("pk", "bits", "user_id", "number_id"):
            numbers.remember(user_id, number)
            found[pk] = bits
        # Also the users of deleted rows: ``index`` needs their dense ids to remove their bits from Redis.
        numbers.prepare(_parse_user(pk) for pk in pks)
        return found

    def record(self, row: Any) -> Any:
        return bitmaps.encode_month(row)

    def index(self, pk: str, record: Any) -> Iterable[Bit]:
        number = numbers.get_number(_parse_user(pk))
        # A key in Redis that another program wrote may name a user who never logged in.
        if number is None:
            return ()
        month, rest = pk.split("_", 1)
        user_type, _ = rest.rsplit("_", 1)
        found = bitmaps.list_day_numbers(bitmaps.parse_month(record))
        return [Bit(keys.day(f"{month}-{day:02}", user_type), number) for day in found]

    def families(self) -> Sequence[Family]:
        return [Family(add_tag(DAY_PREFIX), "bitmap", _find_owner, owners=find_owners)]

    def pk_of(self, key: str) -> str | None:
        name = super().pk_of(key)
        return name if name is not None and is_name(name) else None

    def is_possible(self, pk: str) -> bool:
        return is_name(pk)

    def retired(self) -> Sequence[str]:
        return [add_tag(f"loginlog:{name}") for name in ("population", "erased", "unmarked", "months")]


def find_owners(key: str, members: Sequence[str]) -> list[str]:
    """Return the names of the months that have users' bits in the bitmap of a day. Bits of nobody belong to user 0."""
    day, _, user_type = key.removeprefix(add_tag(DAY_PREFIX)).partition("_")
    places = [int(member) for member in members]
    users = numbers.find_users(places)
    return [f"{day[:7]}_{user_type}_{users.get(place, 0)}" for place in places]


def _find_owner(key: str, member: str) -> str:
    return find_owners(key, [member])[0]


def _parse_user(pk: str) -> int:
    """Return the user's id in the name of a month."""
    return int(pk.rpartition("_")[2])
