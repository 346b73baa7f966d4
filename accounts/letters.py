"""Letters to people: written and sent by a worker, so that no request waits for a mail server or shows what it did.

A request only sends a hint to Celery (``post``). When the broker does not take it, a thread of this process does the
task a moment later: after the response is out, so that its time tells nothing either.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from celery import current_app
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import connections, transaction
from django.template.loader import render_to_string
from django.utils.translation import get_language, override

from mirror import send

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 100
_waiting: Final = threading.BoundedSemaphore(MOST_WAITING)
_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="letters")


def write(about: str, to: str, language: str, **context: Any) -> EmailMultiAlternatives:
    """A letter, not sent yet: text and HTML, from the templates ``accounts/letters/<about>``."""
    with override(language):
        subject = render_to_string(f"accounts/letters/{about}_subject.txt", context)
        text = render_to_string(f"accounts/letters/{about}.txt", context)
        html = render_to_string(f"accounts/letters/{about}.html", {**context, "subject": " ".join(subject.split())})
    letter = EmailMultiAlternatives(" ".join(subject.split()), text, to=[to])
    letter.attach_alternative(html, "text/html")
    return letter


def notify(about: str, to: str, **context: Any) -> None:
    """Have a letter sent to ``to`` once the transaction is committed; nothing for who has no address.

    context: what its templates say; as JSON can say it.
    """
    if to:
        arguments = (about, to, get_language(), {**context, "site": settings.SITE_URL})
        transaction.on_commit(lambda: post("accounts.tasks.send_letter", *arguments))


def post(task: str, *arguments: Any, expires: float | None = None) -> None:
    """Have the task of this name done by a worker, or, when the broker is away, by this process in a moment.

    expires: after how many seconds no worker needs to begin it any more. Never raises.
    """
    if send.task(task, args=arguments, expires=expires):
        return
    if not _waiting.acquire(blocking=False):
        logger.error("The broker is away and %s letters wait already: one is lost", MOST_WAITING)
        return
    _thread.submit(_do, task, arguments, time.monotonic() + settings.LETTER_DELAY_SECONDS)


def _do(task: str, arguments: tuple[Any, ...], at: float) -> None:
    try:
        time.sleep(max(0.0, at - time.monotonic()))
        current_app.loader.import_default_modules()  # as a worker does; who only sends tasks knows none
        current_app.tasks[task](*arguments)
    except Exception:
        logger.exception("A letter could not be sent")
    finally:
        connections.close_all()
        _waiting.release()
