"""What every reporting command has in common: exit codes, JSON, and errors in one line."""

import sys
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

OK, FOUND, FAILED = 0, 1, 2


class ReportingCommand(BaseCommand):
    """Exits with 0 (well), 1 (found something) or 2 (could not run); errors are one line, no traceback.

    Subclasses give ``run(**options) -> exit code``. ``--traceback`` shows where an error comes from.
    """

    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """A parser that says what is wrong with the arguments, and leaves the usage to ``--help``."""
        return brief(super().create_parser(prog_name, subcommand, **kwargs))

    def run(self, **options: Any) -> int:
        """The command's work. Returns the exit code."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn what went wrong into a line and an exit code."""
        try:
            code = self.run(**options)
        except KeyboardInterrupt:
            self.stderr.write(_("stopped; run it again to go on"))
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
            self.stdout.write(orjson.dumps(data, default=str, option=orjson.OPT_INDENT_2).decode())
        else:
            for line in lines:
                self.stdout.write(line)


def brief(parser: CommandParser) -> CommandParser:
    """The parser, whose errors are one line from now on."""

    def no_usage(file: object = None) -> None:
        """The usage is for ``--help``."""

    parser.print_usage = no_usage  # type: ignore[method-assign]
    return parser


def one_line(error: Exception) -> str:
    """What an error says, with its kind where that does not go without saying; of a file, its name first."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, CommandError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
