"""The requirements in docs/security.md."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
STATUSES: Final = {"met", "missing", "not applicable", "see [Second factor](#second-factor)"}


def test_each_requirement_has_a_status_a_reason_and_files_that_exist() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    rows = re.findall(r"^\| (\d+\.\d+\.\d+) \| (.+?) \| (.*?) ?\|$", text, re.MULTILINE)
    assert len(rows) == len({number for number, _status, _why in rows}) > 250
    for number, status, why in rows:
        assert status in STATUSES, number
        assert why or "see" in status, number
        for path in re.findall(r"`([\w./]+/[\w./]*\.\w+|[\w/]+/)`", why):
            assert (ROOT / path).exists(), (number, path)
