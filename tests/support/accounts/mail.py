"""Emails in tests: run the mail tasks that a request sent to the broker, as a worker would."""

import base64
import re
from typing import Any

import orjson
from celery import current_app
from django.core import mail
from django.core.mail import EmailMultiAlternatives

from tests.support.servers import RedisServer
from tests.support.servers.redis import main_server
from tests.support.tasks import load_tasks


def take_hinted_tasks(server: RedisServer | None = None, start: str = "accounts.") -> list[tuple[str, list[Any]]]:
    """Take tasks with names that start with ``start`` from the broker. Return (name, arguments) pairs, oldest first."""
    found = []
    with (server or main_server()).client(2) as broker:
        while raw := broker.rpop("default"):
            message = orjson.loads(raw)
            args, _, _ = orjson.loads(base64.b64decode(message["body"]))
            name = message["headers"]["task"]
            if name.startswith(start):
                found.append((name, args))
    return found


def deliver_emails(server: RedisServer | None = None, start: str = "accounts.") -> list[EmailMultiAlternatives]:
    """Run the tasks in the broker with names that start with ``start``, and return the emails that they sent."""
    before = len(mail.outbox)
    load_tasks()
    for name, args in take_hinted_tasks(server, start):
        current_app.tasks[name](*args)
    return mail.outbox[before:]  # type: ignore[return-value]


def find_link(letter: EmailMultiAlternatives) -> str:
    """Return the path of the link in an email, after checking that its text and its HTML have the same link."""
    found = re.search(r"^http://[^/]+(/\S+)$", str(letter.body), re.MULTILINE)
    assert found, letter.body
    ((html, kind),) = letter.alternatives
    assert kind == "text/html"
    assert f'href="{found[0]}"' in str(html)
    return found[1]
