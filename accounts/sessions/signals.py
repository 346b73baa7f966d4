"""Signals about sessions, so that data that belongs to a token (a cart) can be moved or removed with it.

They are sent before the event: inside the transaction of a rotation, but before the transaction of an ending, because
no transaction may be held across Redis. If a receiver raises, the event does not happen. After a crash a signal is sent
again, so receivers must be repeatable.
"""

from django.dispatch import Signal

# A session continues under a new token; sent inside the transaction of the rotation. old, new: digests. user_id: the
# user of the session; None for an anonymous one, for example during a login (Django's ``user_logged_in`` follows).
token_rotated = Signal()

# Sessions are about to end. digests: a list of their digests. The rows can still be read.
sessions_ending = Signal()
