"""The samples that tests read are those that their generator writes."""

import pytest

from tests.support import samples

pytestmark = pytest.mark.on_sqlite


def test_the_generator_writes_the_samples_byte_for_byte() -> None:
    written = {path: path.read_bytes() for path in samples.FOLDER.rglob("*") if path.is_file()}
    assert written == {samples.FOLDER / name: text.encode() for name, text in samples.contents().items()}
