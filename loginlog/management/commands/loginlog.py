"""``manage.py loginlog``: mark and remove logins, list active users, sync, expire, load, erase."""

from argparse import ArgumentParser
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from common.ids import parse_id
from loginlog import days, selectors, services
from loginlog.archive import expiry, loading
from loginlog.reports.parameters import EARLIEST_DAY
from loginlog.storage import reading
from loginlog.storage.synchronization import sync_months
from mirror.management import OK, ReportingCommand, brief

USERS_PER_STATEMENT = 500


class Command(ReportingCommand):
    """Actions of the login log. Each has a parser in ``add_arguments`` and a method ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Show and manage the login log.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        marked = self._action(actions, "mark", _("mark a login of a user on a day"), user=True)
        marked.add_argument("--date", metavar="D", help=_("the day, YYYY-MM-DD (default: today)"))
        text = _("remove a login that was marked by mistake; a later mark of the same day counts")
        unmarked = self._action(actions, "unmark", text, user=True)
        unmarked.add_argument("--date", metavar="D", required=True, help=_("the day, YYYY-MM-DD"))
        self._action(
            actions,
            "sync",
            _("compare the current month in SQL and Redis, before the 8th also the previous one, and repair Redis"),
        )
        text = _("list the days on which a user logged in")
        self._action(actions, "user", text, user=True, span=True)
        text = _("list the users who logged in on any of these days")
        active = self._action(actions, "active", text, span=True)
        active.add_argument("--type", dest="user_type", choices=reading.list_types(), help=_("only users of this type"))
        expired = self._action(
            actions, "expire", _("write old months to a log file, and remove them from Redis; SQL keeps them")
        )
        text = _("only months whose last day is more than this many days ago (at least 31)")
        expired.add_argument("--older-than", type=int, metavar="DAYS", help=text)
        text = _("also delete them in SQL, with those that have left Redis before")
        expired.add_argument("--from-sql", action="store_true", help=text)
        loaded = self._action(actions, "load", _("load months from a log file"))
        loaded.add_argument("file", type=Path, metavar="FILE", help=_("a file written by expire"))
        self._action(actions, "erase", _("erase a user from the login log and its files permanently"), user=True)

    def _action(self, actions: Any, name: str, text: str, *, user: bool = False, span: bool = False) -> ArgumentParser:
        parser: ArgumentParser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        if user:
            parser.add_argument("user", metavar="USER", help=_("a name (case-insensitive) or an id"))
        if span:
            parser.add_argument("--from", dest="first", required=True, metavar="D", help=_("the first day, YYYY-MM-DD"))
            parser.add_argument("--to", dest="last", required=True, metavar="D", help=_("the last day, YYYY-MM-DD"))
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def do_mark(self, *, user: str, date: str | None, json: bool, **options: Any) -> int:
        who, day = _find_user(user), _parse_past_day(date) if date else days.today()
        new = services.mark_login(who, day)
        text = _("%(user)s: marked on %(day)s") if new else _("%(user)s: already marked on %(day)s")
        result = {"user": who.username, "id": who.pk, "type": who.user_type, "day": day, "new": new}
        self.report(result, [text % {"user": who.username, "day": day}], json)
        return OK

    def do_unmark(self, *, user: str, date: str, json: bool, **options: Any) -> int:
        who, day = _find_user(user), _parse_past_day(date)
        removed = services.remove_login(who, day)
        text = _("%(user)s: the login on %(day)s was removed")
        if not removed:
            text = _("%(user)s: there was no login on %(day)s")
        result = {"user": who.username, "id": who.pk, "day": day, "removed": removed}
        self.report(result, [text % {"user": who.username, "day": day}], json)
        return OK

    def do_sync(self, *, json: bool, **options: Any) -> int:
        done = sync_months()
        months = [f"{month:%Y-%m}" for month in done.months]
        text = ngettext("%(months)s: %(rows)s month of a user", "%(months)s: %(rows)s months of users", done.rows)
        lines = [text % {"months": ", ".join(months), "rows": done.rows}]
        text = ngettext("%(count)s difference repaired", "%(count)s differences repaired", done.repaired)
        lines.append(text % {"count": done.repaired})
        self.report({"months": months, "rows": done.rows, "repaired": done.repaired}, lines, json)
        return OK

    def do_user(self, *, user: str, first: str, last: str, json: bool, **options: Any) -> int:
        who, (start, end) = _find_user(user), _parse_span(first, last)
        found = selectors.find_login_days(who, start, end)
        text = ngettext("%(user)s: %(count)s day", "%(user)s: %(count)s days", len(found))
        lines = [text % {"user": who.username, "count": len(found)}]
        lines += map(str, found)
        self.report({"user": who.username, "id": who.pk, "days": found}, lines, json)
        return OK

    def do_active(self, *, first: str, last: str, user_type: str | None, json: bool, **options: Any) -> int:
        start, end = _parse_span(first, last)
        if user_type:
            ids = list(selectors.find_active_ids(user_type, start, end))
        else:
            ids = list(selectors.find_active_ids_of_any_type(start, end))
        users: list[tuple[int, str]] = []
        for at in range(0, len(ids), USERS_PER_STATEMENT):
            users += _find_names(ids[at : at + USERS_PER_STATEMENT])
        text = ngettext("%(count)s user", "%(count)s users", len(users)) % {"count": len(users)}
        rows = [{"id": pk, "name": name} for pk, name in users]
        result = {"from": start, "to": end, "type": user_type, "count": len(rows), "users": rows}
        lines = [text]
        lines += [f"{pk}\t{name}" for pk, name in users]
        self.report(result, lines, json)
        return OK

    def do_expire(self, *, older_than: int | None, from_sql: bool, json: bool, **options: Any) -> int:
        try:
            done = expiry.expire_months(older_than, from_sql=from_sql)
        except expiry.TooYoung:
            raise CommandError(
                _("--older-than must be at least %(days)s days") % {"days": days.MIN_DAYS_IN_REDIS}
            ) from None
        rows, lines = [], []
        for one in done:
            row = {"month": f"{one.month:%Y-%m}", "removed": one.removed, "kept": one.kept, "file": one.file}
            rows.append(row)
            file = one.file or _("nothing to write")
            lines.append(_("%(month)s: %(removed)s bitmaps removed, %(kept)s kept; %(file)s") % (row | {"file": file}))
        self.report(rows, lines or [_("no month is old enough")], json)
        return OK

    def do_load(self, *, file: Path, json: bool, **options: Any) -> int:
        done = loading.load_file(file)
        text = ngettext("%(count)s bitmap loaded", "%(count)s bitmaps loaded", done.loaded)
        lines = [text % {"count": done.loaded}]
        if done.left_out:
            text = ngettext(
                "%(count)s was left out, because its user does not exist",
                "%(count)s were left out, because their users do not exist",
                done.left_out,
            )
            lines.append(text % {"count": done.left_out})
        self.report(done._asdict(), lines, json)
        return OK

    def do_erase(self, *, user: str, json: bool, **options: Any) -> int:
        who = _find_user(user)
        found = services.erase_user(who)
        text = _("%(user)s: erased") if found else _("%(user)s: nothing to erase")
        self.report({"user": who.username, "id": who.pk, "erased": found}, [text % {"user": who.username}], json)
        return OK


def _find_user(text: str) -> User:
    """Return the user with this name (in any case) or else with this id. Raises CommandError."""
    try:
        return User.objects.get_by_natural_key(text)
    except User.DoesNotExist:
        found = User.objects.filter(pk=parse_id(text)).first()
    if found is None:
        raise CommandError(_("there is no user with the name or id %(text)r") % {"text": text})
    return found


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(_("%(text)r is not a date; write dates like 2017-10-25") % {"text": text}) from None


def _parse_past_day(text: str) -> date:
    """Parse a day between EARLIEST and today. A day outside would stretch every report. Raises CommandError."""
    day = _parse_day(text)
    if not EARLIEST_DAY <= day <= days.today():
        raise CommandError(_("%(day)s is not between %(first)s and today") % {"day": day, "first": EARLIEST_DAY})
    return day


def _parse_span(first: str, last: str) -> tuple[date, date]:
    try:
        return reading.check_range(_parse_day(first), _parse_day(last))
    except ValueError as error:
        raise CommandError(str(error)) from None


def _find_names(ids: list[int]) -> list[tuple[int, str]]:
    """Return ids and names of existing users, in the order of the ids."""
    names = dict(User.objects.filter(pk__in=ids).values_list("pk", "username"))
    return [(pk, names[pk]) for pk in ids if pk in names]
