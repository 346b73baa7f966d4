"""Lua scripts, read from files, called by their digests, and loaded again when Redis does not know them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from redis.exceptions import NoScriptError

from mirror.redis.session import Session
from mirror.redis.types import RedisClient, RedisPipeline

texts: Final[dict[str, str]] = {}  # of all scripts, by digest


class Script:
    """An atomic script. All its keys are passed as keys and share a slot, so that it runs on a cluster.

    path: the file with its text. head: text that precedes it (functions that it calls).
    """

    def __init__(self, path: Path, head: str = "") -> None:
        self.text = head + path.read_text(encoding="utf-8")
        self.digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        texts[self.digest] = self.text

    def __call__(self, redis: RedisClient, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """Run the script. Raises redis-py's errors. One round trip, or two if the server does not know the script."""
        try:
            return redis.execute_command(*self.command(keys, args))
        except NoScriptError:
            return redis.execute_command(*self._send_text(keys, args))

    def load(self, redis: RedisClient) -> None:
        """Load the script before a pipeline of calls (``add``), which cannot be repeated."""
        redis.script_load(self.text)

    def add(self, pipe: RedisPipeline, keys: Sequence[str], args: Sequence[Any] = ()) -> None:
        """Add a call to a pipeline. The reply is a NoScriptError if the server does not know the script."""
        pipe.execute_command(*self.command(keys, args))

    def ask(self, session: Session, keys: Sequence[str], args: Sequence[Any] = ()) -> Any:
        """Run the script on the session's connection."""
        try:
            (reply,) = session.ask([self.command(keys, args)])
        except NoScriptError:
            # EVAL also loads the script, so the next call finds it.
            (reply,) = session.ask([self._send_text(keys, args)])
        return reply

    def command(self, keys: Sequence[str], args: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return the call as a command for ``mirror.redis.session``."""
        return ("EVALSHA", self.digest, len(keys), *keys, *args)

    def _send_text(self, keys: Sequence[str], args: Sequence[Any]) -> tuple[Any, ...]:
        return ("EVAL", self.text, len(keys), *keys, *args)
