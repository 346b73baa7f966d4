"""A step of the build of ``mirror``: compile its messages. ``pyproject.toml`` names this file."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileMessages(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the ``.mo`` files, which are not committed."""
        sys.path.insert(0, self.root)
        from tools.compile_messages import compile_catalogues

        compile_catalogues(Path(self.root))
