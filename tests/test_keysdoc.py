"""docs/keys.md is generated from the code."""

import pytest

from tools import keys_page


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_list_of_keys_is_up_to_date() -> None:
    assert keys_page.PAGE_PATH.read_text(encoding="utf-8") == keys_page.render_page(), "run: python -m tools.keys_page"


def test_key_without_a_description_is_refused() -> None:
    def nameless(book_id: str) -> str:
        """Return a key."""
        return f"x:{book_id}"

    with pytest.raises(keys_page.UndocumentedKey, match="nameless"):
        keys_page.render_row(nameless)
