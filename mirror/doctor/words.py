"""The words of hints. A project that uses environment variables names them in ``MIRROR["WORDS"]``."""

from typing import Final

from mirror.conf import setting

WORDS: Final = {
    "LOCATION": "the LOCATION of the cache alias",
    "PREFIX": 'MIRROR["PREFIX"]',
    "DATABASES": "DATABASES",
}


def say(name: str) -> str:
    """Return the project's word for a part of the settings."""
    return str(setting("WORDS").get(name, WORDS[name]))
