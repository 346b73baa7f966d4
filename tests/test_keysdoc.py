"""docs/keys.md is generated from the code."""

import pytest

from config import keysdoc

pytestmark = pytest.mark.on_sqlite


def test_list_of_keys_is_up_to_date() -> None:
    assert keysdoc.PAGE_PATH.read_text(encoding="utf-8") == keysdoc.render_page(), "run: python -m config.keysdoc"


def test_key_without_a_description_is_refused() -> None:
    def nameless(book_id: str) -> str:
        """Return a key."""
        return f"x:{book_id}"

    with pytest.raises(keysdoc.UndocumentedKey, match="nameless"):
        keysdoc.render_row(nameless)
