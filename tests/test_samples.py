"""The committed samples are the output of their generator."""

from tests.support import samples


def test_generator_reproduces_the_samples() -> None:
    written = {path: path.read_bytes() for path in samples.FOLDER.rglob("*") if path.is_file()}
    assert written == {samples.FOLDER / name: text.encode() for name, text in samples.contents().items()}
