"""Primary keys in texts: in addresses, forms, commands and members of Redis."""

import re
from collections.abc import Iterable
from typing import Final

MAX_ID: Final = 2**63 - 1  # the greatest value of a ``BigAutoField``
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")


def parse_ids(texts: Iterable[str]) -> list[int]:
    """Return primary keys as numbers, without texts that no row can have."""
    numbers = (int(text) for text in texts if _NUMBER.fullmatch(text))
    return [pk for pk in numbers if abs(pk) <= MAX_ID]


def parse_id(text: str) -> int | None:
    """Return a number from 0 to ``MAX_ID``, or None for any other text."""
    pk = int(text) if _NUMBER.fullmatch(text) else -1
    return pk if 0 <= pk <= MAX_ID else None
