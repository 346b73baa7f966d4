"""Verification: compare SQL and Redis in both directions, repair differences, and explain single rows."""

from typing import TYPE_CHECKING

from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.comparison.scan import keys as scan_keys
    from mirror.verify.repair import repair_rows

__all__ = ["repair_rows", "scan_keys"]

__getattr__ = export_lazily(
    __name__, {"repair_rows": "mirror.verify.repair", "scan_keys": "mirror.comparison.scan:keys"}
)
