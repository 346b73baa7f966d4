"""Emails with the unread notifications of readers who chose them, at once or weekly.

A worker derives them from the rows, so none is lost. It claims the emails to a reader, sends one, and then records what
it had. A process that is killed between the two causes a second email after the claim has expired; in the reverse order
it would cause none. No transaction is held while the mail server is asked.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import override

from accounts.mail.outgoing import render_email
from accounts.models import User
from accounts.notifications import selectors
from accounts.notifications.emails.unsubscribing import Subscription, make_link
from accounts.notifications.models import Mailing, Notification, Way
from accounts.notifications.pages.sentences import write_sentence
from accounts.users.language import get_email_language
from common import clock
from common.database import repeat_after_conflict
from mirror import Record
from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("accounts"))
WAIT_PERIOD: Final = timedelta(seconds=60)  # facts that follow one another closely go into one email
CLAIM_PERIOD: Final = timedelta(minutes=10)  # longer than the mail server may take; then the next attempt
MAX_READERS: Final = 200  # readers in one round
MAX_LINES: Final = 20  # notifications in one email


def get_interval(way: Way) -> timedelta:
    """Return the shortest time between two emails of this way to one reader."""
    return timedelta(days=7) if way == Way.WEEKLY else timedelta(seconds=settings.NOTIFICATION_EMAIL_SECONDS)


def send_due(way: Way, seconds: float) -> int:
    """Send the due emails of this way, until the budget is spent. Return their number."""
    count, began = 0, monotonic()
    for user_id in _find_due_readers(way):
        if monotonic() - began > seconds:
            break
        try:
            count += send_to_reader(user_id, way)
        except Exception as error:  # any error of the mail server or of the rendering
            failures.add((user_id, way), "The notifications of user %s could not be sent", user_id, error=error)
        else:
            failures.end((user_id, way), "The notifications of user %s were sent", user_id)
    return count


def send_to_reader(user_id: int, way: Way) -> bool:
    """Send an email with the notifications of this way to a reader. Return False if it is not due or has no content.

    Raises OSError, the base of smtplib's errors, if the mail server refuses it; then the claim stays until it expires.
    """
    user = User.objects.filter(pk=user_id, is_active=True).exclude(email="").first()
    if user is None or not _claim(user_id, way):
        return False
    rows = list(_select_unsent(way).filter(user_id=user_id).order_by("-last_at", "-pk"))
    shown = selectors.show_records(user_id, [_to_record(row) for row in rows[:MAX_LINES]])
    if shown:
        _make_email(user, way, shown, len(rows[MAX_LINES:])).send()
    _record_sent(user_id, way, rows, is_sent=bool(shown))
    return bool(shown)


def _select_unsent(way: Way) -> QuerySet[Notification]:
    """Return the unread notifications of this way that no email had."""
    unsent = Q(mailed_at=None) | Q(mailed_at__lt=F("last_at"))
    return Notification.objects.filter(unsent, way=way, is_unread=True)


def _find_due_readers(way: Way) -> list[int]:
    now = clock.now()
    is_late = Q(sent_at__gt=now - get_interval(way)) | Q(claimed_until__gt=now)
    waiting = Mailing.objects.filter(is_late, user_id=OuterRef("user_id"), way=way)
    rows = _select_unsent(way).filter(last_at__lte=now - WAIT_PERIOD, user__is_active=True).exclude(user__email="")
    found = rows.exclude(Exists(waiting)).order_by("user_id").values_list("user_id", flat=True)
    return list(found.distinct()[:MAX_READERS])


@repeat_after_conflict
def _claim(user_id: int, way: Way) -> bool:
    """Claim the next email of this way to a reader. Return False if another process has it, or it is not due."""
    now = clock.now()
    Mailing.objects.get_or_create(user_id=user_id, way=way)
    is_due = Q(sent_at=None) | Q(sent_at__lte=now - get_interval(way))
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    # The conditions let one process change the row.
    mine = Mailing.objects.filter(is_due, is_free, user_id=user_id, way=way)
    return bool(mine.update(claimed_until=now + CLAIM_PERIOD))


@repeat_after_conflict
def _record_sent(user_id: int, way: Way, rows: Sequence[Notification], *, is_sent: bool) -> None:
    with transaction.atomic():
        # In the order in which drains lock them. The times are those of the email: later facts are not sent yet.
        for row in sorted(rows, key=lambda row: row.pk):
            Notification.objects.filter(pk=row.pk).update(mailed_at=row.last_at)
        mailing = Mailing.objects.filter(user_id=user_id, way=way)
        mailing.update(claimed_until=None, **({"sent_at": clock.now()} if is_sent else {}))


def _to_record(row: Notification) -> Record:
    """Return a row in the form of the mirror's records."""
    columns = ("id", "kind", "target", "count", "actors", "is_unread")
    record = {column: getattr(row, column) for column in columns}
    return {**record, "user": row.user_id, "last_at": row.last_at.isoformat()}


def _make_email(user: User, way: Way, shown: Sequence[selectors.Shown], others: int) -> EmailMultiAlternatives:
    language = get_email_language(user)
    with override(language):
        lines = [{"text": write_sentence(one), "quote": one.detail.quote, "path": one.detail.path} for one in shown]
    link = make_link(Subscription(user.pk, way))
    email = render_email(
        "notifications",
        user.email,
        language,
        name=user.username,
        lines=lines,
        count=len(shown) + others,
        others=others,
        is_weekly=way == Way.WEEKLY,
        unsubscribe=link,
    )
    # One click in the mail program (RFC 8058)
    email.extra_headers = {"List-Unsubscribe": f"<{link}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return email
