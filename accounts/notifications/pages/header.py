"""The number of unread notifications in the header of a reader's pages.

It takes no round trip of its own: its read goes with those of the session or the page
(``accounts.sessions.companions``).
"""

from typing import Final

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from accounts import keys
from accounts.notifications.mirrors import NotificationMirror
from accounts.notifications.selectors import count_unread
from accounts.sessions.companions import user_reads
from common.paths import make_path
from common.rendered import remember_rendered
from common.web import get_viewer_id
from mirror.read import Asked

MAX_BYTES: Final = 100_000  # of remembered links
MAX_SHOWN: Final = 99
_UNREAD_ATTRIBUTE: Final = "_unread_notifications"


def register_user_read() -> None:
    """Let the number be read with the session or the page."""
    user_reads.append(_ask_ahead)


def _ask_ahead(user_id: int) -> Asked:
    # The same commands as in ``selectors.count_unread``
    return Asked.of([NotificationMirror.name], lambda pipe: pipe.scard(keys.unread(user_id)))


def remember_unread(request: HttpRequest, unread: int) -> None:
    """Remember the number of the reader's unread notifications after this request read or changed them."""
    setattr(request, _UNREAD_ATTRIBUTE, unread)


@pass_context
def notifications_link(context: Context) -> SafeString:
    """Render the link to the reader's notifications with the number of unread ones; nothing for other visitors."""
    request: HttpRequest = context["request"]
    viewer = get_viewer_id(request)
    if viewer is None:
        return SafeString()
    known: int | None = getattr(request, _UNREAD_ATTRIBUTE, None)
    unread = count_unread(viewer) if known is None else known
    return _render_link(min(unread, MAX_SHOWN + 1), request.path == make_path("notifications:list"))


@remember_rendered(MAX_BYTES)
def _render_link(unread: int, is_here: bool) -> SafeString:
    return render_to_string("notifications/_link.html", {"unread": unread, "is_here": is_here, "most": MAX_SHOWN})
