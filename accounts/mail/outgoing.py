"""Emails to users. A worker renders and sends them, so that no request waits for the mail server.

The messages to the worker are signed, because other programs may write to the broker. The worker reads the name and the
verified address in SQL; a message contains only what SQL does not store, such as the former address of a user.

A request only queues a Celery task (``post``). While the broker is away, a thread of this process runs the task shortly
after the response. So the time of a response never reveals whether an email was sent.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from celery import current_app
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives
from django.db import connections, transaction
from django.template.loader import render_to_string
from django.utils.translation import get_language, override

from accounts.models import User
from mirror.relay import send

logger = logging.getLogger(__name__)

LETTER_SECONDS: Final = 3 * 86_400  # a message that is older is not sent; a copy of it could be repeated until then
MAX_WAITING_TASKS: Final = 100
# Of tasks that send emails: retry while the mail server is unavailable. The errors of smtplib are OSErrors as well.
RETRY_OPTIONS: Final[dict[str, Any]] = {
    "autoretry_for": (OSError,),
    "retry_backoff": 10,
    "retry_backoff_max": 300,
    "max_retries": 6,
}
_free_places: Final = threading.BoundedSemaphore(MAX_WAITING_TASKS)
_executor: Final = ThreadPoolExecutor(1, thread_name_prefix="letters")


class Letter(NamedTuple):
    """An email that waits for a worker. to: None for the verified address. details: further values for the templates,
    serializable as JSON.
    """

    about: str
    language: str
    to: str | None
    details: dict[str, Any]


def render_email(about: str, to: str, language: str, **context: Any) -> EmailMultiAlternatives:
    """Return an unsent email with text and HTML parts, from the templates ``accounts/mails/<about>``."""
    context["site"] = settings.SITE_URL
    with override(language):
        subject = render_to_string(f"accounts/mails/{about}_subject.txt", context)
        text = render_to_string(f"accounts/mails/{about}.txt", context)
        html = render_to_string(f"accounts/mails/{about}.html", {**context, "subject": " ".join(subject.split())})
    letter = EmailMultiAlternatives(" ".join(subject.split()), text, to=[to])
    letter.attach_alternative(html, "text/html")
    return letter


def queue_email(about: str, user: User, *, to: str | None = None, **details: Any) -> None:
    """Queue an email to the user after the commit. Do nothing if the address is empty.

    to: an address that is not the user's verified one. details: as in a ``Letter``.
    """
    if user.email if to is None else to:
        signed = sign_letter(user.pk, Letter(about, get_language() or "", to, details))
        # After the commit, so that a rolled-back change sends no email and the worker sees the change.
        transaction.on_commit(lambda: queue_task("accounts.tasks.send_letter", user.pk, signed))


def sign_letter(user_id: int, letter: Letter) -> str:
    """Return the letter to a user in the signed form of messages."""
    return signing.dumps(letter, salt=_make_salt(user_id))


def read_letter(user_id: object, signed: object) -> Letter | None:
    """Return the letter in a message. None: the site did not sign it for this user, or it is too old."""
    try:
        return Letter(*signing.loads(str(signed), salt=_make_salt(user_id), max_age=LETTER_SECONDS))
    except signing.BadSignature:
        return None


def _make_salt(user_id: object) -> str:
    return f"accounts.letters:{user_id}"


def queue_task(task: str, *arguments: Any, expires: float | None = None) -> None:
    """Queue a task for a worker; while the broker is away, run it in a thread of this process after a short delay.

    expires: seconds after which no worker starts the task. Never raises.
    """
    if send.task(task, args=arguments, expires=expires):
        return
    # Bounded, because a broker that is away for hours would fill the memory.
    if not _free_places.acquire(blocking=False):
        logger.error("The broker is away and %s letters wait already: one is lost", MAX_WAITING_TASKS)
        return
    _executor.submit(_run_task, task, arguments, time.monotonic() + settings.LETTER_DELAY_SECONDS)


def _run_task(task: str, arguments: tuple[Any, ...], at: float) -> None:
    try:
        time.sleep(max(0.0, at - time.monotonic()))
        # A web process has no task modules loaded. Loading also runs all system checks, so it happens once.
        if task not in current_app.tasks:
            current_app.loader.import_default_modules()
        current_app.tasks[task](*arguments)
    except Exception:
        logger.exception("A letter could not be sent")
    finally:
        # The thread has connections of its own, which no request would close.
        connections.close_all()
        _free_places.release()
