"""What is told of sessions, so that what hangs on a token (a cart) can come along or be put away.

Sent before it is done, in the transaction of a rotation, and before that of an ending (where nothing may be held across
Redis): if a receiver raises, it is not done. After a crash it is sent again: receivers have to be repeatable.
"""

from django.dispatch import Signal

# A session goes on under another token; sent inside the transaction that makes it. old, new: digests; user_id: whose
# session it is, None: nobody's yet, as when logging in (then Django's ``user_logged_in`` follows).
token_rotated = Signal()

# Sessions are about to end. digests: a list of theirs; the rows may still be read.
sessions_ending = Signal()
