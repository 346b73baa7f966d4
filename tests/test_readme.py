"""The README tells the truth."""

import re
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.on_sqlite

README = (Path(settings.BASE_DIR) / "README.md").read_text()


def test_every_environment_variable_that_settings_read_is_explained() -> None:
    code = "".join(path.read_text() for path in (Path(settings.BASE_DIR) / "config").glob("settings*.py"))
    read = set(re.findall(r'(?:env\.\w+|required|origin)\(\s*"(\w+)"', code))
    assert {"SECRET_KEY", "REDIS_URL"} <= read
    assert {name for name in read if f"`{name}`" not in README} == set()


def test_every_make_target_is_mentioned() -> None:
    makefile = (Path(settings.BASE_DIR) / "Makefile").read_text()
    targets = re.findall(r"^(\w+):", makefile, flags=re.MULTILINE)
    assert "demo" in targets
    assert [target for target in targets if f"make {target}" not in README] == []


def test_every_place_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*)`", README)) | set(re.findall(r"\]\(([^):]+)\)", README))
    assert "mirror/" in named
    missing = {place for place in named if not (Path(settings.BASE_DIR) / place).exists()}
    assert missing - {"var/"} == set()  # made by the first start
