"""What ``manage.py backup`` prints for people."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.backup.flush import Flushed
from mirror.backup.restore import Restored
from mirror.backup.status import BackupStatus
from mirror.backup.verify import Difference
from mirror.management.texts import fact, table


def statuses(found: Sequence[BackupStatus]) -> list[str]:
    """A table of all backups, with a line that says what the columns are; then why items were set aside."""
    if not found:
        return [_("No backups are declared.")]
    head = [_("backup"), _("state"), _("marked"), _("oldest"), _("set aside"), _("last flush")]
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
    """Whether Redis is known to have nothing that is older than SQL, in words."""
    if found.warm is None:
        return _("unknown")
    if found.warm:
        return _("warm")
    if found.restored_items:
        return _("cold, %(items)s items restored") % {"items": found.restored_items}
    return _("cold")


def oldest(found: BackupStatus) -> str:
    """How long the oldest mark has waited."""
    return "?" if found.oldest_mark_seconds is None else f"{found.oldest_mark_seconds:.1f} s"


def count(number: int | None) -> str:
    """A number of items, "?" when Redis does not say."""
    return "?" if number is None else str(number)


def flushed(done: Flushed) -> str:
    """What became of one backup's flush."""
    items = ngettext("%(count)s item written to SQL", "%(count)s items written to SQL", done.items)
    aside = ngettext("%(count)s set aside", "%(count)s set aside", done.aside)
    return f"{done.backup}: {items % {'count': done.items}}, {aside % {'count': done.aside}}"


def restored(done: Restored) -> str:
    """What became of one backup's restore."""
    items = ngettext("%(count)s item looked at", "%(count)s items looked at", done.items) % {"count": done.items}
    return f"{done.backup}: {items}"


def difference(found: Difference) -> str:
    """One line: which item, and what either side says."""
    kinds = {"missing": _("missing"), "stale": _("stale"), "stray": _("stray"), "unsaved": _("unsaved")}
    return _("%(backup)s %(item)s: %(kind)s: SQL says %(sql)s, Redis %(redis)s") % {
        "backup": found.backup,
        "item": found.item,
        "kind": kinds[found.kind],
        "sql": fact(found.sql),
        "redis": fact(found.redis),
    }


def differences(found: Sequence[Difference]) -> list[str]:
    """A line each, and how many there are."""
    count = ngettext("%(count)s difference", "%(count)s differences", len(found)) % {"count": len(found)}
    return [*map(difference, found), count]
