"""Signals about sessions, so that data that belongs to a token (a cart) can be moved or removed with it.

They are sent inside the transaction of the event. If a receiver raises, the event does not happen. Receivers use Redis
after the commit only. The transaction may be repeated, and the signal with it.
"""

from django.dispatch import Signal

# A session continues under a new token; sent inside the transaction of the rotation. old, new: digests. user_id: the
# user of the session; None for an anonymous one, for example during a login (Django's ``user_logged_in`` follows).
token_rotated = Signal()

# Sessions end. digests: a list of their digests. The rows can still be read.
sessions_ending = Signal()
