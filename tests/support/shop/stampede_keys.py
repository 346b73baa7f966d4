"""The Redis keys by which the processes of a stampede and their test synchronise."""

from typing import Final

MADE: Final = "stampede:made"
READY: Final = "stampede:ready"
GO: Final = "stampede:go"
