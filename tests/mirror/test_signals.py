"""What Django's signals tell: which keys were changed, at both ends of a link."""

from collections.abc import Callable

import pytest

from mirror import Mirror, Watch, register, registry, signals
from tests.support.mirror.app.models import Follow, Group, Item, Label, Odd

Hint = tuple[str, str, str]
pytestmark = pytest.mark.django_db


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Hint]:
    """Every (mirror, source, key) that is hinted at."""
    found: list[Hint] = []
    monkeypatch.setattr(signals, "hint", lambda mirror, source, keys: found.extend((mirror, source, k) for k in keys))
    return found


@pytest.fixture
def item() -> Item:
    return Item.objects.create(name="a")


@pytest.fixture
def label() -> Label:
    return Label.objects.create(name="red")


def of(item: Item) -> list[Hint]:
    """What a change of an item without a group is to each mirror."""
    return [("latest", "", str(item.pk)), ("titem", "", str(item.pk))]


def test_a_save_tells_every_mirror_that_watches(told: list[Hint], item: Item) -> None:
    assert sorted(told) == of(item)


def test_a_delete_tells_the_key_that_was(told: list[Hint], item: Item) -> None:
    told.clear()
    said = of(item)
    item.delete()
    assert sorted(told) == said


def test_a_key_of_two_columns_is_told_as_one(told: list[Hint]) -> None:
    Follow.objects.create(follower=1, followed=2)
    assert told == [("tfollow", "", "1:2")]


def test_a_key_that_is_null_is_not_told(told: list[Hint]) -> None:
    Odd.objects.create(code=None)
    assert told == []


def test_a_source_is_told_by_its_own_key(told: list[Hint], label: Label) -> None:
    assert told == [("titem", Label._meta.db_table, str(label.pk))]


def test_rows_that_go_with_another_are_told_each(told: list[Hint]) -> None:
    group = Group.objects.create(name="g")
    item = Item.objects.create(name="a", group=group)
    said = of(item)
    told.clear()
    group.delete()
    assert set(said) < set(told)


@pytest.mark.parametrize("end", ["item", "label"])
@pytest.mark.parametrize("how", ["add", "remove", "set", "clear"])
def test_links_tell_the_item_whichever_end_they_are_changed_from(
    how: str, end: str, told: list[Hint], item: Item, label: Label
) -> None:
    links, other = (item.labels, label) if end == "item" else (label.items, item)
    if how != "add":
        links.add(other)  # type: ignore[arg-type]
    told.clear()
    if how == "clear":
        links.clear()
    elif how == "set":
        links.set([])
    else:
        getattr(links, how)(other)
    assert told == [("titem", "", str(item.pk))]


def test_links_that_are_added_again_tell_nothing(told: list[Hint], item: Item, label: Label) -> None:
    item.labels.add(label)
    told.clear()
    label.items.add(item)
    assert told == []


def test_a_row_that_was_loaded_in_part_can_be_deleted_and_saved(told: list[Hint], item: Item) -> None:
    """Asking it for a column that was left out would ask SQL for a row that is gone."""
    told.clear()
    said = of(item)
    part = Item.objects.only("name").get()
    part.save()
    assert sorted(told) == said
    part = Item.objects.only("name").get()
    part.delete()
    assert sorted(told) == sorted(said * 2)


def test_listening_twice_tells_once(told: list[Hint]) -> None:
    signals.connect()
    Odd.objects.create(code="a")
    assert told == [("t'odd", "", "a")]


class TestNarrow:
    """Watches that leave something out."""

    @pytest.fixture
    def watching(self, own_registry: None, told: list[Hint]) -> Callable[[Watch], None]:
        """Has one mirror alone, with this watch."""

        def declare(watch: Watch) -> None:
            registry._mirrors.clear()
            register(type("Alone", (Mirror,), {"name": "alone", "model": Item, "watches": [watch]}))
            signals.connect()

        return declare

    def test_where_only_updates_count_rows_that_come_and_go_tell_nothing(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        watching(Watch(Item, updates=True))
        item = Item.objects.create(name="a")
        assert told == []
        item.save()
        assert told == [("alone", "", str(item.pk))]
        item.delete()
        assert len(told) == 1

    def test_where_there_is_one_key_every_change_tells_it(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        watching(Watch(Item, whole=True))
        item = Item.objects.create(name="a")
        item.save()
        item.delete()
        assert told == [("alone", "", "")] * 3

    def test_links_tell_the_one_key_there_is(
        self, watching: Callable[[Watch], None], told: list[Hint], label: Label
    ) -> None:
        item = Item.objects.create(name="a")
        told.clear()
        watching(Watch(Item.labels.through, whole=True))
        item.labels.add(label)
        item.labels.clear()
        assert told == [("alone", "", "")] * 2
        watching(Watch(Item.labels.through, "item_id", updates=True))
        item.labels.add(label)
        item.labels.clear()
        assert len(told) == 2

    def test_saving_other_fields_than_those_that_count_tells_nothing(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        item = Item.objects.create(name="a")
        told.clear()
        watching(Watch(Item, only=("score", "group_id")))
        item.save(update_fields=["name", "hidden"])
        assert told == []
        said = ("alone", "", str(item.pk))
        for fields in (["score"], ["group"], ["group_id", "name"], None):
            item.save(update_fields=fields)
            assert told == [said], fields
            told.clear()

    def test_what_is_pushed_tells_its_table_and_its_columns(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        watching(Watch(Item, ("id", "score"), pushed=True))
        item = Item.objects.create(name="a", score=3)
        assert told == [("alone", Item._meta.db_table, f"{item.pk}:3")]
