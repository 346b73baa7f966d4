"""Extra reads of other applications, which are sent in the round trip that reads the session on every page.

The subject of a companion is the digest of the session:

>>> companions.register(Addition(name="cart", add_commands=lambda pipe, digest: pipe.hvals(keys.cart(digest))))

The replies are found at the session: ``request.session.get_companion_replies("cart")``, or None if Redis was not asked.
The application itself decides whether to trust them: the pipeline is not a transaction, and only the session's mirror
is checked.

The reads that every page of a user makes cannot be among them, because only the session names the user. They go with
the next read of the page, or with the session's if this process knows the user of the session:

>>> user_reads.append(lambda user_id: Asked.of(["notification"], lambda pipe: pipe.scard(keys.unread(user_id))))
"""

from collections.abc import Callable
from typing import Final

from common.additions import Addition, Additions
from mirror.read import Asked

companions: Final = Additions[Addition]()
user_reads: Final[list[Callable[[int], Asked]]] = []


def list_user_reads(user_id: int) -> list[Asked]:
    """Return the reads that every page of a user makes."""
    return [make(user_id) for make in user_reads]
