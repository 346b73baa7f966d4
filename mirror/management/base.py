"""The base of reporting commands: exit codes, JSON, and errors in one line."""

import sys
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

OK, FOUND, FAILED = 0, 1, 2


class ReportingCommand(BaseCommand):
    """A command that exits with 0 (no problem), 1 (found problems) or 2 (could not run), with errors in one line.

    Subclasses implement ``run(**options) -> exit code``. ``--traceback`` shows the traceback of an error.
    """

    # A command must run on a site with faults, for example the doctor, which explains them.
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Return a parser that reports wrong arguments without the usage, which ``--help`` shows."""
        return brief(super().create_parser(prog_name, subcommand, **kwargs))

    def run(self, **options: Any) -> int:
        """Do the command's work. Return the exit code."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn an error into a line and an exit code."""
        try:
            code = self.run(**options)
        except KeyboardInterrupt:
            self.stderr.write(_("stopped; run the command again to continue"))
            code = FAILED
        except Exception as error:
            if options.get("traceback"):
                raise
            self.stderr.write(self.style.ERROR(one_line(error)))
            code = FAILED
        if code != OK:
            sys.exit(code)

    def report(self, data: Any, lines: list[str], json: bool) -> None:
        """Print ``data`` as JSON, or else the lines."""
        if json:
            lines = [orjson.dumps(data, default=str, option=orjson.OPT_INDENT_2).decode()]
        for line in lines:
            self.stdout.write(line)


def brief(parser: CommandParser) -> CommandParser:
    """Return the parser after making its errors one line."""

    def no_usage(file: object = None) -> None:
        """Print nothing, because only ``--help`` shows the usage."""

    parser.print_usage = no_usage  # type: ignore[method-assign]
    return parser


def one_line(error: Exception) -> str:
    """Return an error as one line, with its class where the message alone is unclear, and with its file, if any."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    name = type(error).__name__
    if not text:
        return name
    # The messages of commands are complete sentences.
    return text if isinstance(error, CommandError) else f"{name}: {text}"
