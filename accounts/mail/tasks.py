"""Celery tasks that send emails. ``accounts.tasks`` imports them for the workers.

A message that the site did not sign is dropped: it is forged, too old, or of a release that did not sign messages.
"""

import logging

from celery import shared_task

from accounts.mail import addresses, outgoing
from accounts.models import User
from accounts.passwords import services as passwords

logger = logging.getLogger("accounts")


@shared_task(name="accounts.tasks.send_letter", **outgoing.RETRY_OPTIONS)
def send_email(user_id: object, signed: object, *_former: object) -> int:
    """Render and send one email. Return the number of sent emails: 0 if the user or the request is gone.

    _former: further arguments of messages of earlier releases.
    """
    letter = outgoing.read_letter(user_id, signed)
    if letter is None:
        return _drop("send_letter")
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return 0
    details = letter.details
    if letter.about == addresses.CONFIRM:
        # Made only now, from SQL: a message that waits in the broker contains no valid link.
        path = addresses.make_path(user.pk, letter.to)
        if path is None:
            return 0
        details["path"] = path
    to = user.email if letter.to is None else letter.to
    return outgoing.render_email(letter.about, to, letter.language, name=user.username, **details).send() if to else 0


@shared_task(name="accounts.tasks.send_reset_links", **outgoing.RETRY_OPTIONS)
def send_reset_links(signed: object, *_former: object) -> int:
    """Send reset links for the accounts of an address. Return the number of emails, 0 without an account."""
    request = passwords.read_request(signed)
    return _drop("send_reset_links") if request is None else passwords.send_reset_links(*request)


def _drop(task: str) -> int:
    logger.warning("A message for %s was dropped: this site did not sign it, or it is too old", task)
    return 0
