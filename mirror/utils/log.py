"""The logger of the application, which is called ``mirror``."""

import logging
from typing import Final

__all__ = ["logger"]
logger: Final = logging.getLogger(__name__.partition(".")[0])
