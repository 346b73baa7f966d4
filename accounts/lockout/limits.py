"""What is counted, and up to where.

- ``pair``: a name from an address. Someone's failures lock nobody else out, and not the owner at another address.
- ``name``: from all addresses together, far higher: against many addresses that try one name.
- ``address``: all names together: against one address that tries a few passwords on many names. Successes do not
  count, and one name fills its pair first, so that an office is not locked by one person's typos.
- ``device``: instead of all these, where this name has logged in before with this browser (``known.py``): the owner
  can neither be locked out by strangers nor by people who share the address.

A name counts alike whether anybody has it.
"""

import hashlib
from typing import Final, NamedTuple

from django.conf import settings

from accounts.names import fold


class Limit(NamedTuple):
    """kind: its name. own: one person's, so that their success clears it."""

    kind: str
    allowed: int
    seconds: int
    own: bool


class Counter(NamedTuple):
    """What is counted together; ``address`` is an address, or a device; ``form`` what is counted of a form."""

    limit: Limit
    name: str
    address: str
    form: str = ""

    @property
    def key(self) -> str:
        """What it is called in SQL, and in Redis after ``accounts.keys.tries``."""
        return hashlib.sha256(f"{self.limit.kind}\0{self.name}\0{self.address}{self.form}".encode()).hexdigest()


NAME: Final = Limit("name", 100, 3600, own=False)
ADDRESS: Final = Limit("address", 100, 3600, own=False)


def _own(kind: str) -> Limit:
    return Limit(kind, settings.LOGIN_FAILURE_LIMIT, settings.LOGIN_WAIT_SECONDS, own=True)


def counted_name(given: str) -> str:
    """A name as it is counted, from whatever was typed: folded, and fit for every column."""
    return fold(given[:200].replace("\0", " ").encode(errors="replace").decode())[:200]


def counters_of(given: str, address: str, device: str = "") -> list[Counter]:
    """The counters of a try with that name. address: "" when it is not known. device: "" when it is new."""
    name = counted_name(given)
    if device:
        return [Counter(_own("device"), name, device)]
    found = [Counter(_own("pair"), name, address), Counter(NAME, name, "")]
    return [*found, Counter(ADDRESS, "", address)] if address else found
