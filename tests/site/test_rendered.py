"""Parts of pages that are rendered once and remembered."""

import pytest
from django.utils import translation
from pytest_django.fixtures import Settings

from common.rendered import LARGEST_SHARE, Rendered

ROOM = 1600


class Counted:
    """A function that counts its calls. Its results have 90 characters more than its argument."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, text: str) -> str:
        self.calls.append(text)
        return text + translation.get_language().ljust(90)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_a_part_is_rendered_once_for_each_argument_and_language(counted: Counted) -> None:
    part = Rendered(counted, ROOM, len)
    assert part("a") is part("a")
    assert part("b") != part("a")
    with translation.override("zh-hans"):
        assert part("a") is part("a")
        assert part("a").rstrip() == "azh-hans"
    assert counted.calls == ["a", "b", "a"]


def test_the_oldest_parts_are_dropped_when_the_room_is_used(counted: Counted) -> None:
    part = Rendered(counted, ROOM, len)
    texts = [str(n).zfill(5) for n in range(17)]  # 100 bytes each, with the argument
    for text in texts:
        part(text)
    counted.calls.clear()
    for text in texts[1:]:
        part(text)
    assert counted.calls == []
    part(texts[0])
    assert counted.calls == texts[:1]


def test_a_part_that_would_take_much_of_the_room_is_not_remembered(counted: Counted) -> None:
    part = Rendered(counted, ROOM, len)
    for text in ("small", "small", "x" * (ROOM // LARGEST_SHARE)):
        part(text)
    part("x" * (ROOM // LARGEST_SHARE))
    assert len(counted.calls) == 3


def test_nothing_is_remembered_while_templates_are_edited(counted: Counted, settings: Settings) -> None:
    settings.DEBUG = True
    part = Rendered(counted, ROOM, len)
    part("a")
    part("a")
    assert counted.calls == ["a", "a"]


def test_all_parts_can_be_forgotten(counted: Counted) -> None:
    part = Rendered(counted, ROOM, len)
    part("a")
    part.clear()
    part("a")
    assert counted.calls == ["a", "a"]
