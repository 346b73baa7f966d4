"""The counters of login attempts and their limits.

A name is what was typed: the name of an account or an email address.

- ``pair``: one name from one address. It does not lock out other users, or the owner at another address.
- ``name``: one name from all addresses, with a far higher limit, against many addresses that try one name.
- ``address``: one address with all names, against an address that tries a few passwords on many names. Successes do not
  count, and one name fills its pair first, so that the typos of one user do not lock out an office.
- ``device``: replaces all others for a known device of the user (``known.py``), so that neither users
  elsewhere nor those of the same address can lock out the owner.

Names without an account count like all others.
"""

import hashlib
from typing import Final, NamedTuple

from django.conf import settings

from common.text import fold


class Limit(NamedTuple):
    """A limit of ``allowed`` attempts per period. own: it belongs to one user, so that a successful login resets it."""

    kind: str
    allowed: int
    seconds: int
    own: bool


class Counter(NamedTuple):
    """A counter. address: an IP address, or the id of a device. form: the subject of a limit on forms."""

    limit: Limit
    name: str
    address: str
    form: str = ""

    @property
    def key(self) -> str:
        """Return the key of the counter in SQL; in Redis it is the argument of ``accounts.keys.tries``."""
        return hashlib.sha256(f"{self.limit.kind}\0{self.name}\0{self.address}{self.form}".encode()).hexdigest()


NAME_LIMIT: Final = Limit("name", 100, 3600, own=False)
ADDRESS_LIMIT: Final = Limit("address", 100, 3600, own=False)


def _make_own_limit(kind: str) -> Limit:
    return Limit(kind, settings.LOGIN_FAILURE_LIMIT, settings.LOGIN_WAIT_SECONDS, own=True)


def normalize_name(given: str) -> str:
    """Return the typed name in the form that counters use: folded, and valid in every database column."""
    # Cut before and after folding: folding may lengthen a text, and a long one costs time.
    return fold(given[:200].replace("\0", " ").encode(errors="replace").decode())[:200]


def list_logins(username: str, email: str) -> list[str]:
    """Return what a user may type at a login, in the form that counters use: the name, and the address if there is one.

    Each has counters of its own. With common ones, a locked name would show which address belongs to it.
    """
    return [normalize_name(typed) for typed in (username, email) if typed]


def list_counters(given: str, address: str, device: str = "") -> list[Counter]:
    """Return the counters of an attempt with the typed name or email address.

    address: "" if unknown. device: "" if not a known one.
    """
    name = normalize_name(given)
    if device:
        return [Counter(_make_own_limit("device"), name, device)]
    found = [Counter(_make_own_limit("pair"), name, address), Counter(NAME_LIMIT, name, "")]
    return [*found, Counter(ADDRESS_LIMIT, "", address)] if address else found
