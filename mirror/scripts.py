"""Lua scripts: read from a file beside the code, known to Redis by their digest, sent again when it forgot them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redis.exceptions import NoScriptError

from mirror.session import Session


class Script:
    """One atomic step. Keys are always passed as keys, and all in one slot, so that it runs on a cluster.

    path: the file with its text. head: text that goes before it (functions that it may call).
    """

    def __init__(self, path: Path, head: str = "") -> None:
        self.text = head + path.read_text(encoding="utf-8")
        self.digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, redis: Any, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """Run it; raises redis-py's errors. One round trip, two when the server does not know the script yet."""
        try:
            return redis.execute_command("EVALSHA", self.digest, len(keys), *keys, *args)
        except NoScriptError:
            return redis.execute_command("EVAL", self.text, len(keys), *keys, *args)

    def load(self, redis: Any) -> None:
        """Make the script known: before a pipeline of many calls (``add``), which cannot try again."""
        redis.script_load(self.text)

    def add(self, pipe: Any, keys: Sequence[str], args: Sequence[Any] = ()) -> None:
        """Add a call to a pipeline. Its reply is a NoScriptError if the server does not know the script."""
        pipe.execute_command("EVALSHA", self.digest, len(keys), *keys, *args)

    def ask(self, session: Session, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """Run it on a connection that is held."""
        try:
            return session.ask([self.command(keys, args)])[0]
        except NoScriptError:
            return session.ask([("EVAL", self.text, len(keys), *keys, *args)])[0]

    def command(self, keys: Sequence[str], args: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The call as a command for ``mirror.session``."""
        return ("EVALSHA", self.digest, len(keys), *keys, *args)
