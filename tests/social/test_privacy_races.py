"""Nothing stays visible to everyone when an account becomes private while something else is saved."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from accounts.models import User
from catalog.library.models import LibraryImport, State
from catalog.library.services import run_import
from catalog.lists import services as lists
from catalog.lists.models import ReadingList
from catalog.lists.services import ListDraft
from catalog.shelves import services as shelves
from catalog.shelves.models import Privacy, Shelf, ShelfSettings
from social.services import people
from tests.social.test_people_services import at_once
from tests.support.locks import has_lock_wait
from tests.support.servers import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("postgres")]
Save = Callable[[int], Any]


def show_shelf(user_id: int) -> None:
    shelves.set_privacy(user_id, Shelf.READ, Privacy.PUBLIC)


def show_list(user_id: int) -> None:
    lists.change_list(user_id, ReadingList.objects.get(name="old").pk, ListDraft("old", privacy=Privacy.PUBLIC))


def import_list(user_id: int) -> None:
    told = {"lists": {"new": {"name": "new", "privacy": "public"}}}
    load = LibraryImport.objects.create(user_id=user_id, service="goodreads", state=State.APPLYING, details=told)
    run_import(load.pk)


@pytest.mark.parametrize(
    ("module", "save"),
    [
        ("catalog.shelves.services", show_shelf),
        ("catalog.lists.services", show_list),
        ("catalog.library.changes.lists", import_list),
    ],
)
def test_an_account_becomes_private_after_what_is_saved(
    module: str, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = User.objects.create(username="ann").pk
    lists.create_list(ann, ListDraft("old", privacy=Privacy.ME))
    limit, looked = shelves.limit_privacy, threading.Event()

    def look(user_id: int, privacy: str) -> str:
        level = limit(user_id, privacy)
        looked.set()
        wait_until(has_lock_wait, "the account to wait")
        return level

    def hide() -> None:
        looked.wait(PATIENCE_SECONDS)
        people.set_private(ann, is_private=True)

    monkeypatch.setattr(f"{module}.limit_privacy", look)
    at_once(partial(save, ann), hide)
    assert not ReadingList.objects.filter(privacy=Privacy.PUBLIC).exists()
    assert ShelfSettings.objects.get(user=ann).read_privacy == Privacy.FOLLOWERS


def test_an_account_that_becomes_private_keeps_a_level_chosen_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    ann = User.objects.create(username="ann").pk
    shelves.set_privacy(ann, Shelf.READ, Privacy.PUBLIC)
    save, looked = ShelfSettings.save, threading.Event()

    def look(row: ShelfSettings, **options: Any) -> None:
        if "want_privacy" in options["update_fields"]:
            looked.set()
            wait_until(has_lock_wait, "the chosen level to wait")
        save(row, **options)

    def choose() -> None:
        looked.wait(PATIENCE_SECONDS)
        shelves.set_privacy(ann, Shelf.READ, Privacy.ME)

    monkeypatch.setattr(ShelfSettings, "save", look)
    at_once(partial(people.set_private, ann, is_private=True), choose)
    assert ShelfSettings.objects.get(user=ann).read_privacy == Privacy.ME
