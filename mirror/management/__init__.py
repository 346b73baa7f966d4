"""The commands, and a base for commands of other applications: reports, exit codes and progress."""

from mirror.management.base import FAILED, FOUND, OK, ReportingCommand, brief
from mirror.management.progress import Progress, plain

__all__ = ["FAILED", "FOUND", "OK", "Progress", "ReportingCommand", "brief", "plain"]
