"""The text output of ``manage.py backup``."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.backup.flush import Flushed
from mirror.backup.restore import Restored
from mirror.backup.status import BackupStatus
from mirror.backup.verify import Difference
from mirror.management.texts import fact, table


def statuses(found: Sequence[BackupStatus]) -> list[str]:
    """Return a table of all backups with a heading, then the errors of quarantined items."""
    if not found:
        return [_("No backups are declared.")]
    head = [_("backup"), _("state"), _("marked"), _("oldest"), _("quarantined"), _("last flush")]
    rows = [
        [
            s.backup,
            state(s),
            count(s.marked),
            oldest(s),
            count(s.set_aside),
            s.last_flush[:19].replace("T", " ") if s.last_flush else _("never"),
        ]
        for s in found
    ]
    errors = [f"{s.backup} {item}: {error}" for s in found for item, error in s.errors.items()]
    return table(head, rows) + errors


def state(found: BackupStatus) -> str:
    """Return the state of a backup: warm, or the progress of its restore."""
    if found.warm is None:
        return _("unknown")
    if found.warm:
        return _("warm")
    if found.restored_items:
        return _("cold, %(items)s items restored") % {"items": found.restored_items}
    return _("cold")


def oldest(found: BackupStatus) -> str:
    """Return the age of the oldest mark."""
    return "?" if found.oldest_mark_seconds is None else f"{found.oldest_mark_seconds:.1f} s"


def count(number: int | None) -> str:
    """Return a number of items, or "?" if Redis is away."""
    return "?" if number is None else str(number)


def flushed(done: Flushed) -> str:
    """Return the result of a backup's flush."""
    items = ngettext("%(count)s item written to SQL", "%(count)s items written to SQL", done.items)
    aside = ngettext("%(count)s quarantined", "%(count)s quarantined", done.aside)
    return f"{done.backup}: {items % {'count': done.items}}, {aside % {'count': done.aside}}"


def restored(done: Restored) -> str:
    """Return the result of a backup's restore."""
    items = ngettext("%(count)s item checked", "%(count)s items checked", done.items) % {"count": done.items}
    return f"{done.backup}: {items}"


def difference(found: Difference) -> str:
    """Return one line: the item, and its values on both sides."""
    kinds = {"missing": _("missing"), "stale": _("stale"), "stray": _("stray"), "unsaved": _("unsaved")}
    return _("%(backup)s %(item)s: %(kind)s: SQL has %(sql)s, Redis has %(redis)s") % {
        "backup": found.backup,
        "item": found.item,
        "kind": kinds[found.kind],
        "sql": fact(found.sql),
        "redis": fact(found.redis),
    }


def differences(found: Sequence[Difference]) -> list[str]:
    """Return a line for each difference, and their number."""
    count = ngettext("%(count)s difference", "%(count)s differences", len(found)) % {"count": len(found)}
    return [*map(difference, found), count]
