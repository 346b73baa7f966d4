"""Names of login months: their keys in Redis without the prefix, and their primary keys in SQL."""

from datetime import date
from typing import NamedTuple, Self

from mirror.redis import tag_of

PREFIX, DAY_PREFIX = "loginLog_", "loginDay_"


class BadName(ValueError):
    """A text that names no login month."""


class MonthName(NamedTuple):
    """The month (its first day), the type, and the id of the user."""

    month: date
    user_type: str
    user_id: int

    def __str__(self) -> str:
        return f"{str(self.month)[:7]}_{self.user_type}_{self.user_id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the parts of a name. Raises BadName."""
        month, _, rest = text.partition("_")
        user_type, _, user_id = rest.rpartition("_")
        try:
            found = cls(date.fromisoformat(f"{month}-01"), user_type, int(user_id))
        except ValueError:
            found = None
        # int and fromisoformat accept other spellings ("007"), which would be a second name of one month.
        if found is None or str(found) != text or not user_type:
            raise BadName(f"{text!r} names no month of a user")
        return found


def is_name(text: str) -> bool:
    """Return whether a text names a month of a user."""
    try:
        MonthName.parse(text)
    except BadName:
        return False
    return True


def make_month_key(name: str) -> str:
    """Return the key of the month with this name, or with an empty one the beginning of all of them."""
    return add_tag(f"{PREFIX}{name}")


def add_tag(name: str) -> str:
    """Return a key of the login log with the hash tag that all of them have on a cluster."""
    return tag_of("loginlog") + name
