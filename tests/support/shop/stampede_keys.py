"""What the processes of a stampede and their test know one another by."""

from typing import Final

MADE: Final = "stampede:made"
READY: Final = "stampede:ready"
GO: Final = "stampede:go"
