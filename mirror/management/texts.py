"""The text output of ``manage.py mirror``."""

from collections.abc import Sequence

from django.core.checks import ERROR, WARNING, CheckMessage
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.comparison.compare import Difference
from mirror.comparison.expected import describe_entry
from mirror.comparison.explained import Explained
from mirror.status import Status
from mirror.uninstall import Remains
from mirror.upkeep.rebuild import Rebuilt


def statuses(found: Sequence[Status]) -> list[str]:
    """Return a table of all mirrors with a heading, and the faults of those that miss changes below it."""
    if not found:
        return [_("No mirrors are declared.")]
    head = [_("mirror"), _("state"), _("rows"), _("pending"), _("oldest"), _("quarantined"), _("layout")]
    lines = [_list_cells(status) for status in found]
    # A fault may be longer than a line.
    faults = [f"  {status.mirror}: {state(status)}" for status in found if status.faults]
    return table(head, lines) + faults + _describe_background(found)


def _list_cells(status: Status) -> list[str]:
    return [
        status.mirror,
        _("cold") if status.faults else state(status),
        rows(status),
        str(status.pending),
        f"{status.oldest_pending_seconds:.1f} s",
        str(status.quarantined),
        status.layout_version,
    ]


def _describe_background(found: Sequence[Status]) -> list[str]:
    """Return the progress and the findings of the present pass of the background verification, if one has begun."""
    begun = [status for status in found if status.background_rows is not None]
    if not begun:
        return []
    rows = sum(status.background_rows or 0 for status in begun)
    differences = sum(status.background_differences for status in found)
    last = [f"  {status.mirror} {status.background_last}" for status in found if status.background_last]
    text = _("background verification: %(rows)s rows compared in this pass, %(found)s differences")
    return [text % {"rows": rows, "found": differences}, *last]


def rows(found: Status) -> str:
    """Return the number of a mirror's rows; for windows, the number in Redis, possibly estimated."""
    if found.rows < 0:
        return "?"
    if not found.estimated:
        return str(found.rows)
    # The sample found none, but there may be some.
    if found.rows == 0:
        return _("few")
    return _("about %(count)s") % {"count": found.rows}


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return aligned columns, the first two to the left."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines: list[str] = []
    for row in [head, *rows]:
        cells = map(_align_cell, row, widths, range(len(row)))
        lines.append("  ".join(cells).rstrip())
    return lines


def _align_cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column < 2 else text.rjust(width)


def state(found: Status) -> str:
    """Return the state of a mirror."""
    # Faults first: while changes are missed, the marker in Redis does not count.
    if found.faults:
        return _("cold: %(faults)s") % {"faults": ", ".join(found.faults)}
    if found.warm is None:
        return _("unknown")
    if found.warm:
        return _("warm")
    if found.rebuilding_rows is not None:
        return _("cold, %(rows)s rows rebuilt") % {"rows": found.rebuilding_rows}
    return _("cold")


def rebuilt(done: Rebuilt) -> str:
    """Return the result of a mirror's rebuild."""
    if done.faults:
        text = _("%(mirror)s: not rebuilt, because changes are not captured (%(faults)s): run migrate first")
        return text % {"mirror": done.mirror, "faults": ", ".join(done.faults)}
    if done.waits:
        text = _("%(mirror)s: waiting until these mirrors are warm: %(others)s")
        return text % {"mirror": done.mirror, "others": ", ".join(done.waits)}
    if done.skipped:
        return _("%(mirror)s: another process is rebuilding it") % {"mirror": done.mirror}
    rows = ngettext("%(count)s row", "%(count)s rows", done.rows) % {"count": done.rows}
    strays = ngettext("%(count)s stray removed", "%(count)s strays removed", done.strays) % {"count": done.strays}
    if not done.failed:
        return f"{done.mirror}: {rows}, {strays}"
    failed = _("%(count)s failed, and the relay tries again") % {"count": done.failed}
    return f"{done.mirror}: {rows}, {strays}, {failed}"


def drained(applied: int, left: int) -> str:
    """Return the numbers of applied and of pending changes."""
    text = ngettext(
        "%(count)s change applied, %(left)s pending", "%(count)s changes applied, %(left)s pending", applied
    )
    return text % {"count": applied, "left": left}


def kept_back(count: int) -> str:
    """Return the number of quarantined changes, and how they are applied."""
    text = ngettext(
        "%(count)s quarantined change was left out: `manage.py mirror drain --retry` tries it again",
        "%(count)s quarantined changes were left out: `manage.py mirror drain --retry` tries them again",
        count,
    )
    return text % {"count": count}


def cold(names: str) -> str:
    """Return that SQL answers for these mirrors, and what ends it."""
    text = _("cold, so SQL answers until the relay or `manage.py mirror rebuild` has rebuilt them: %(names)s")
    return text % {"names": names}


def difference(found: Difference) -> str:
    """Return one line: the row, the place, and the values on both sides."""
    if found.kind == "quarantined":
        # A change of a source has the source before its key.
        pk = f"{found.key}:{found.pk}" if found.key else found.pk
        text = _("%(mirror)s %(pk)s: quarantined: %(error)s")
        return text % {"mirror": found.mirror, "pk": pk, "error": found.found}
    if found.kind == "unreadable":
        text = _("%(mirror)s %(pk)s: unreadable: %(error)s")
        return text % {"mirror": found.mirror, "pk": found.pk, "error": found.found}
    kinds = {"missing": _("missing"), "stale": _("stale"), "stray": _("stray")}
    where = found.key
    if found.entry is not None:
        key, member, _value = describe_entry(found.entry)
        where = f"{key} {member}".rstrip()
    text = _("%(mirror)s %(pk)s: %(kind)s %(where)s: SQL has %(sql)s, Redis has %(redis)s")
    return text % {
        "mirror": found.mirror,
        "pk": found.pk,
        "kind": kinds[found.kind],
        "where": where,
        "sql": fact(found.expected),
        "redis": fact(found.found),
    }


def explained(found: Explained) -> list[str]:
    """Return a mirror's view of one row: its own key, then its entries ("=" where both sides agree)."""
    lines = [
        f"{found.mirror} {found.key}",
        _("  SQL:   %(value)s") % {"value": fact(found.sql)},
        _("  Redis: %(value)s") % {"value": fact(found.redis)},
    ]
    if found.pending:
        ids = ", ".join(map(str, found.pending))
        lines.append(_("  pending changes: %(ids)s") % {"ids": ids})
    for key, member, wanted, stored in found.entries:
        mark = "=" if wanted == stored else "!"
        both = _("SQL: %(sql)s  Redis: %(redis)s") % {"sql": fact(wanted), "redis": fact(stored)}
        lines.append(f"  {mark} {key} {member}  {both}")
    return lines


def removal(found: Remains, steps: Sequence[str], is_done: bool) -> list[str]:
    """Return the removed parts and, in English like the doctor's hints, the steps that remain by hand."""
    text = _("removed: %(found)s") if is_done else _("would be removed with --yes: %(found)s")
    triggers = len(found.triggers)
    tables = len(found.tables)
    counts = [
        ngettext("%(count)s trigger", "%(count)s triggers", triggers) % {"count": triggers},
        ngettext("%(count)s table", "%(count)s tables", tables) % {"count": tables},
        ngettext("%(count)s key", "%(count)s keys", found.keys) % {"count": found.keys},
    ]
    lines = [text % {"found": ", ".join(counts)}, _("by hand:")]
    lines += [f"  - {step}" for step in steps]
    return lines


def severity(found: CheckMessage) -> str:
    """Return the severity of a finding, as in JSON."""
    if found.level >= ERROR:
        return "error"
    if found.level >= WARNING:
        return "warning"
    return "info"


def findings(found: Sequence[CheckMessage]) -> list[str]:
    """Return the findings of the doctor, those with the same hint together, and each hint once.

    Like messages of system checks, they are in English.
    """
    # In the order of the first finding with each hint.
    by_hint: dict[str, list[str]] = {}
    for message in found:
        line = f"{severity(message)}: {message.msg} ({message.id})"
        by_hint.setdefault(message.hint or "", []).append(line)
    lines: list[str] = []
    for hint, messages in by_hint.items():
        lines += messages
        if hint:
            lines.append(f"  {hint}")
    return lines


def fact(value: str | None) -> str:
    """Return the value at a place: nothing, a text, or "there" for a set's member."""
    if value is None:
        return _("nothing")
    return value or _("present")
