"""Verification: compare SQL and Redis in both directions, repair differences, and explain single rows."""

from mirror.comparison.scan import keys as scan_keys
from mirror.verify.repair import repair_rows

__all__ = ["repair_rows", "scan_keys"]
