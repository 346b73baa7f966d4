"""Emails to users. A worker renders and sends them, so that no request waits for the mail server.

A request only queues a Celery task (``post``). While the broker is away, a thread of this process runs the task shortly
after the response. So the time of a response never reveals whether an email was sent.
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

from mirror.relay import send

logger = logging.getLogger(__name__)

MAX_WAITING_TASKS: Final = 100
_free_places: Final = threading.BoundedSemaphore(MAX_WAITING_TASKS)
_executor: Final = ThreadPoolExecutor(1, thread_name_prefix="letters")


def render_email(about: str, to: str, language: str, **context: Any) -> EmailMultiAlternatives:
    """Return an unsent email with text and HTML parts, from the templates ``accounts/mails/<about>``."""
    with override(language):
        subject = render_to_string(f"accounts/mails/{about}_subject.txt", context)
        text = render_to_string(f"accounts/mails/{about}.txt", context)
        html = render_to_string(f"accounts/mails/{about}.html", {**context, "subject": " ".join(subject.split())})
    letter = EmailMultiAlternatives(" ".join(subject.split()), text, to=[to])
    letter.attach_alternative(html, "text/html")
    return letter


def queue_email(about: str, to: str, **context: Any) -> None:
    """Queue an email to the address ``to`` after the commit. Do nothing if the address is empty.

    context: values for the templates, which must be serializable as JSON.
    """
    if to:
        arguments = (about, to, get_language(), {**context, "site": settings.SITE_URL})
        transaction.on_commit(lambda: queue_task("accounts.tasks.send_letter", *arguments))


def queue_task(task: str, *arguments: Any, expires: float | None = None) -> None:
    """Queue a task for a worker; while the broker is away, run it in a thread of this process after a short delay.

    expires: seconds after which no worker starts the task. Never raises.
    """
    if send.task(task, args=arguments, expires=expires):
        return
    if not _free_places.acquire(blocking=False):
        logger.error("The broker is away and %s letters wait already: one is lost", MAX_WAITING_TASKS)
        return
    _executor.submit(_run_task, task, arguments, time.monotonic() + settings.LETTER_DELAY_SECONDS)


def _run_task(task: str, arguments: tuple[Any, ...], at: float) -> None:
    try:
        time.sleep(max(0.0, at - time.monotonic()))
        current_app.loader.import_default_modules()  # a web process has no task modules loaded
        current_app.tasks[task](*arguments)
    except Exception:
        logger.exception("A letter could not be sent")
    finally:
        connections.close_all()
        _free_places.release()
