"""Where settings come from: the environment, and the folders beside the code."""

from pathlib import Path
from typing import Final

import environ

BASE_DIR: Final = Path(__file__).resolve().parent.parent
VAR_DIR: Final = BASE_DIR / "var"
env: Final = environ.Env()
