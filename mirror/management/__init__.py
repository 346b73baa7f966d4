"""The commands, and a base for commands of other applications: reports, exit codes and progress."""

from typing import TYPE_CHECKING

from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.management.base import FAILED, FOUND, OK, ReportingCommand, brief
    from mirror.management.progress import Progress, plain

__all__ = ["FAILED", "FOUND", "OK", "Progress", "ReportingCommand", "brief", "plain"]

# tqdm is slow to import, and the admin needs other modules of this package.
__getattr__ = export_lazily(
    __name__,
    {
        "FAILED": "mirror.management.base",
        "FOUND": "mirror.management.base",
        "OK": "mirror.management.base",
        "Progress": "mirror.management.progress",
        "ReportingCommand": "mirror.management.base",
        "brief": "mirror.management.base",
        "plain": "mirror.management.progress",
    },
)
