"""Notifications in words: as HTML with links, as plain text, and in JSON."""

from collections.abc import Sequence
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.notifications.selectors import Shown
from accounts.template_functions import person_link
from common.spacing import close_gaps


def render_sentence(shown: Shown) -> SafeString:
    """Return the sentence of a notification, with a link to the first reader."""
    first = [person_link(name) for name in shown.names[:1]]
    others = [format_html("<bdi>{}</bdi>", name) for name in shown.names[1:]]
    people = _join_names(shown, first + others)
    values = {"people": people, "title": f"<bdi>{escape(shown.detail.title)}</bdi>"}
    # The names and the title are HTML, and the rest is a text of the site.
    return mark_safe(close_gaps(str(escape(shown.kind.sentence)) % values))


def write_sentence(shown: Shown) -> str:
    """Return the sentence of a notification as plain text."""
    values = {"people": _join_names(shown, shown.names), "title": shown.detail.title}
    return close_gaps(str(shown.kind.sentence) % values)


def _join_names(shown: Shown, names: Sequence[str]) -> str:
    """Return "Ann", "Ann and Bob", or "Ann and 3 others"."""
    if not names:
        return ""
    others = shown.count - 1
    if others <= 0:
        return names[0]
    if others == 1 and len(names) > 1:
        return _("%(one)s and %(other)s") % {"one": names[0], "other": names[1]}
    values = {"one": names[0], "n": f"{others:,}"}
    if shown.is_more:
        return _("%(one)s and more than %(n)s others") % values
    return ngettext("%(one)s and %(n)s other", "%(one)s and %(n)s others", others) % values


def to_json(shown: Shown) -> dict[str, Any]:
    """Return a notification in the form of JSON answers."""
    return {
        "id": shown.id,
        "kind": shown.kind.name,
        "people": list(shown.names),
        "count": shown.count,
        "is_more": shown.is_more,
        "text": write_sentence(shown),
        "quote": shown.detail.quote,
        "url": shown.detail.path,
        "time": shown.time.isoformat(timespec="seconds"),
        "is_unread": shown.is_unread,
    }
