"""System checks report invalid window declarations, with a hint."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.core.checks import run_checks

from mirror import After, Family, Watch, WindowMirror, register
from tests.projects.mirrortest.models import Note, Writer

pytestmark = pytest.mark.usefixtures("own_registry")


class Sound(WindowMirror):
    """A valid declaration."""

    name = "sound"
    model = Writer
    length = 3
    watches = [Watch(Note, "writer_id"), Watch(Writer)]

    def record_key(self, pk: str) -> str:
        return f"sound:{pk}"

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {}

    def families(self) -> Sequence[Family]:
        return [Family("sound:", "zset", lambda key, member: key)]


class Unmade(Sound):
    length = None  # type: ignore[assignment]


class Endless(Sound):
    length = 0


class Alive(Sound):
    life_seconds = 5


class Late(Sound):
    after = (After("treading", lambda edge: edge),)


class Placeless(Sound):
    def record_key(self, pk: str) -> str:
        return "sound:all"


class Twice(Sound):
    def record_key(self, pk: str) -> str:
        return f"sound:{pk}:{pk}"


class Failing(Sound):
    def record_key(self, pk: str) -> str:
        return f"sound:{int(pk)}"


class Ownerless(Sound):
    lazy = True

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return []


class Untold(Sound):
    lazy = True
    watches = [Watch(Note, "writer_id")]


class Negative(Sound):
    lazy = True
    life_seconds = -1


class LazyAndWhole(Placeless):
    lazy = True
    watches = [Watch(Note, whole=True), Watch(Writer)]


def said(declaration: type[WindowMirror]) -> list[Any]:
    register(declaration)
    return [message for message in run_checks() if str(message.id).startswith("mirror.")]


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        (Unmade, "at least 1"),
        (Endless, "at least 1"),
        (Alive, "only a lazy window has a life"),
        (Negative, "only a lazy window has a life"),
        (Late, "only a lazy window comes after"),
        (Placeless, "contains the owner 0 times"),
        (LazyAndWhole, "contains the owner 0 times"),
        (Twice, "contains the owner 2 times"),
        (Failing, "key() fails"),
        (Ownerless, "owners()"),
        (Untold, "does not watch deletions"),
    ],
)
def test_invalid_window_is_reported(declaration: type[WindowMirror], text: str) -> None:
    (message,) = said(declaration)
    assert text in message.msg
    assert message.hint
    assert message.id == "mirror.E022"


class Whole(Placeless):
    watches = [Watch(Note, whole=True)]


class Lazy(Sound):
    lazy = True
    life_seconds = 5
    after = (After("treading", lambda edge: edge),)


class Owned(Ownerless):
    def owners(self, pks: Sequence[str]) -> set[str]:
        return set(pks)


@pytest.mark.parametrize("declaration", [Sound, Whole, Lazy, Owned])
def test_valid_window_gives_no_message(declaration: type[WindowMirror]) -> None:
    assert said(declaration) == []
