"""What every reporting command has in common: exit codes, JSON, and errors in one line."""

import sys
from typing import Any

import orjson
from django.core.management.base import BaseCommand
from django.db.utils import DatabaseError
from redis.exceptions import RedisError

OK, FOUND, FAILED = 0, 1, 2


class ReportingCommand(BaseCommand):
    """Exits with 0 (well), 1 (found something) or 2 (could not run); errors are one line, no traceback.

    Subclasses give ``run(**options) -> exit code``. ``--traceback`` shows where an error comes from.
    """

    requires_system_checks: list[str] = []

    def run(self, **options: Any) -> int:
        """The command's work. Returns the exit code."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn what went wrong into a line and an exit code."""
        try:
            code = self.run(**options)
        except (RedisError, DatabaseError, LookupError, RuntimeError, OSError, ValueError) as error:
            if options.get("traceback"):
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            self.stderr.write(self.style.ERROR(f"{type(error).__name__}: {text}"))
            code = FAILED
        except KeyboardInterrupt:
            self.stderr.write("stopped; run it again to go on")
            code = FAILED
        if code != OK:
            sys.exit(code)

    def report(self, data: Any, lines: list[str], json: bool) -> None:
        """Print ``data`` as JSON, or else the lines."""
        if json:
            self.stdout.write(orjson.dumps(data, default=str, option=orjson.OPT_INDENT_2).decode())
        else:
            for line in lines:
                self.stdout.write(line)
