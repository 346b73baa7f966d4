"""``manage.py timelines``: rebuild home timelines from SQL, and report their state."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from common.text import fold
from mirror import WindowMirror, registry
from mirror.management import FOUND, OK, Progress, ReportingCommand, brief
from mirror.redis import relay_client
from mirror.status import warm_mirrors
from mirror.windows import window
from social.timelines.active import find_active_readers, iterate_id_slices

MAX_NAMED = 20  # ids of users without a timeline that the report lists


class Command(ReportingCommand):
    """Actions on home timelines. Each has a parser in ``add_arguments`` and a method ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Build home timelines from SQL in advance, so that the next page is served from Redis.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("build home timelines from SQL; exit 1 if any could not be built")
        rebuilt = self._action(actions, "rebuild", text)
        whose = rebuilt.add_mutually_exclusive_group()
        text = _("name of a reader; may be given several times")
        whose.add_argument("--user", action="append", dest="users", metavar="NAME", help=text)
        text = _("all readers who were active in the last 7 days")
        whose.add_argument("--all-active", action="store_true", help=text)
        self._action(
            actions, "status", _("count the readers who were active in the last 7 days, and their warm timelines")
        )

    def _action(self, actions: Any, name: str, text: str) -> ArgumentParser:
        parser: ArgumentParser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def do_rebuild(self, *, users: list[str] | None, all_active: bool, json: bool, **options: Any) -> int:
        if not users and not all_active:
            raise CommandError(_("give --user NAME (may be repeated) or --all-active"))
        slices, total = (
            ([_find_user_ids(users)], len(users))
            if users
            else (iterate_id_slices(find_active_readers()), find_active_readers().count())
        )
        _refuse_while_cold()
        with Progress(self.stderr, _("built"), {"timelines": total}) as progress:
            made, missed = _rebuild_timelines(slices, progress)
        text = ngettext("%(count)s home timeline built", "%(count)s home timelines built", made) % {"count": made}
        lines = [text]
        if missed:
            text = _("%(count)s not built: %(ids)s (deleted meanwhile, or a mirror became cold)")
            some = ", ".join(map(str, missed[:MAX_NAMED])) + (", …" if len(missed) > MAX_NAMED else "")
            lines.append(text % {"count": len(missed), "ids": some})
        self.report({"made": made, "not_made": missed}, lines, json)
        return FOUND if missed else OK

    def do_status(self, *, json: bool, **options: Any) -> int:
        active = warm = 0
        for some in iterate_id_slices(find_active_readers()):
            active += len(some)
            warm += window.count_warm(_get_timeline_mirror(), [str(pk) for pk in some], relay_client())
        text = _("%(active)s readers were active in the last 7 days; %(warm)s of their home timelines are warm")
        self.report({"active": active, "warm": warm}, [text % {"active": active, "warm": warm}], json)
        return OK


def _get_timeline_mirror() -> WindowMirror:
    return registry.get("timeline", WindowMirror)


def _find_user_ids(names: Sequence[str]) -> list[int]:
    """Return the ids of the users with these names. Raises CommandError for unknown names."""
    keys = {fold(name): name for name in names}
    found = dict(User.objects.filter(name_key__in=keys).values_list("name_key", "pk"))
    if unknown := [name for key, name in keys.items() if key not in found]:
        raise CommandError(_("readers not found: %(names)s") % {"names": ", ".join(map(repr, unknown))})
    return [found[key] for key in keys]


def _refuse_while_cold() -> None:
    """Raise CommandError if the timelines' mirror, or a mirror that they are computed after, is cold."""
    mirror = _get_timeline_mirror()
    names = [mirror.name, *(after.mirror for after in mirror.after)]
    found = warm_mirrors(relay_client())
    if cold := [name for name in dict.fromkeys(names) if not found[name]]:
        given = {"names": ", ".join(cold), "command": f"mirror rebuild {' '.join(cold)}"}
        raise CommandError(_("cold: %(names)s; run first: %(command)s") % given)


def _rebuild_timelines(slices: Iterable[Sequence[int]], progress: Progress) -> tuple[int, list[int]]:
    """Rebuild the timelines of these users. Return the number of successes and the ids of the failures."""
    mirror, redis = _get_timeline_mirror(), relay_client()
    made, missed = 0, list[int]()
    for some in slices:
        for pk in some:
            window.cool(mirror, [str(pk)], redis)
            if window.warm(mirror, str(pk), redis):
                made += 1
            else:
                missed.append(pk)
            progress("timelines", 1)
    return made, missed
