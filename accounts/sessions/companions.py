"""Extra reads of other applications, which are sent in the round trip that reads the session on every page.

The subject of a companion is the digest of the session:

>>> companions.register(Addition(name="cart", add_commands=lambda pipe, digest: pipe.hvals(keys.cart(digest))))

The replies are found at the session: ``request.session.get_companion_replies("cart")``, or None if Redis was not asked.
The application itself decides whether to trust them: the pipeline is not a transaction, and only the session's mirror
is checked.
"""

from typing import Final

from common.additions import Addition, Additions

companions: Final = Additions[Addition]()
