"""Django's signals give hints of the changed keys, at both ends of a link."""

from collections.abc import Callable

import pytest
from django.db.models.signals import m2m_changed, post_delete

from mirror import Mirror, Watch, register, registry
from mirror.relay import signals
from tests.projects.mirrortest.models import Follow, Group, Item, Label, Odd

Hint = tuple[str, str, str]
pytestmark = pytest.mark.django_db


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Hint]:
    """Collect (mirror, source, key) of every hint."""
    found: list[Hint] = []
    monkeypatch.setattr(
        signals, "hint_all", lambda due: found.extend((*group, key) for group, keys in due for key in keys)
    )
    return found


@pytest.fixture
def item() -> Item:
    return Item.objects.create(name="a")


@pytest.fixture
def label() -> Label:
    return Label.objects.create(name="red")


def of(item: Item) -> list[Hint]:
    """Return the hints of a changed item without a group."""
    return [("latest", "", ""), ("titem", "", str(item.pk))]


def test_save_hints_every_watching_mirror(told: list[Hint], item: Item) -> None:
    assert sorted(told) == of(item)


def test_deletions_and_links_are_received_only_where_a_mirror_asks_for_them() -> None:
    """With a receiver, Django loads the rows before it deletes them."""
    for model in (Item, Item.labels.through, Label, Group, Follow):
        assert not post_delete.has_listeners(model)
        assert not m2m_changed.has_listeners(model)


def test_no_receiver_remains_after_the_last_mirror_that_asks(
    monkeypatch: pytest.MonkeyPatch, own_registry: None
) -> None:
    monkeypatch.setattr(type(registry.get("tfollow")), "inline_deletes", True)
    signals.connect()
    assert (post_delete.has_listeners(Follow), post_delete.has_listeners(Item)) == (True, False)
    registry.unregister("tfollow")
    signals.connect()
    assert not post_delete.has_listeners(Follow)


@pytest.mark.usefixtures("inline_deletes")
def test_delete_hints_the_former_key(told: list[Hint], item: Item) -> None:
    told.clear()
    said = of(item)
    item.delete()
    assert sorted(told) == said


def test_key_of_two_columns_is_joined(told: list[Hint]) -> None:
    Follow.objects.create(follower=1, followed=2)
    assert told == [("tfollow", "", "1:2")]


def test_null_key_gives_no_hint(told: list[Hint]) -> None:
    Odd.objects.create(code=None)
    assert told == []


def test_source_is_hinted_by_its_own_key(told: list[Hint], label: Label) -> None:
    label.name = "renamed"
    label.save()
    assert told == [("titem", Label._meta.db_table, str(label.pk))]


@pytest.mark.usefixtures("inline_deletes")
def test_cascading_delete_hints_every_deleted_row(told: list[Hint]) -> None:
    group = Group.objects.create(name="g")
    item = Item.objects.create(name="a", group=group)
    said = of(item)
    told.clear()
    group.delete()
    assert set(said) < set(told)


@pytest.mark.usefixtures("inline_deletes")
@pytest.mark.parametrize("end", ["item", "label"])
@pytest.mark.parametrize("how", ["add", "remove", "set", "clear"])
def test_links_hint_the_item_from_either_end(how: str, end: str, told: list[Hint], item: Item, label: Label) -> None:
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


@pytest.mark.usefixtures("inline_deletes")
def test_existing_links_added_again_give_no_hint(told: list[Hint], item: Item, label: Label) -> None:
    item.labels.add(label)
    told.clear()
    label.items.add(item)
    assert told == []


@pytest.mark.usefixtures("inline_deletes")
def test_partly_loaded_row_can_be_saved_and_deleted(told: list[Hint], item: Item) -> None:
    """Reading a deferred column would query SQL for a row that no longer exists."""
    told.clear()
    said = of(item)
    part = Item.objects.only("name").get()
    part.save()
    assert sorted(told) == said
    part = Item.objects.only("name").get()
    part.delete()
    assert sorted(told) == sorted(said * 2)


def test_connecting_twice_hints_once(told: list[Hint]) -> None:
    signals.connect()
    Odd.objects.create(code="a")
    assert told == [("t'odd", "", "a")]


class Textless(int):
    """A number that cannot be written as text."""

    def __str__(self) -> str:
        raise TypeError("no text")


def test_save_succeeds_although_the_key_has_no_text(told: list[Hint], caplog: pytest.LogCaptureFixture) -> None:
    edge = Follow(follower=Textless(1), followed=2)
    edge.save()
    assert (told, Follow.objects.get().follower) == ([], 1)
    assert caplog.messages == ["A change of mirrortest.Follow gives no hint, the relay will see to it"]


class TestNarrow:
    """Watches with ``only``, ``inserts``, ``whole`` or ``pushed``."""

    @pytest.fixture
    def watching(self, own_registry: None, told: list[Hint]) -> Callable[[Watch], None]:
        """Return a function that leaves one registered mirror, with the given watch."""

        def declare(watch: Watch) -> None:
            registry._mirrors.clear()
            alone = {"name": "alone", "model": Item, "watches": [watch], "inline_deletes": True}
            register(type("Alone", (Mirror,), alone))
            signals.connect()

        return declare

    def test_created_rows_can_be_left_out(self, watching: Callable[[Watch], None], told: list[Hint]) -> None:
        watching(Watch(Item, inserts=False))
        item = Item.objects.create(name="a")
        assert told == []
        item.save()
        assert told == [("alone", "", str(item.pk))]
        pk = str(item.pk)
        item.delete()
        assert told == [("alone", "", pk)] * 2

    def test_whole_hints_the_empty_key_for_every_change(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        watching(Watch(Item, whole=True))
        item = Item.objects.create(name="a")
        item.save()
        item.delete()
        assert told == [("alone", "", "")] * 3

    def test_links_of_a_whole_watch_hint_the_empty_key(
        self, watching: Callable[[Watch], None], told: list[Hint], label: Label
    ) -> None:
        item = Item.objects.create(name="a")
        told.clear()
        watching(Watch(Item.labels.through, whole=True))
        item.labels.add(label)
        item.labels.clear()
        assert told == [("alone", "", "")] * 2
        watching(Watch(Item.labels.through, "item_id", inserts=False))
        item.labels.add(label)
        assert len(told) == 2
        item.labels.clear()
        assert told[2:] == [("alone", "", str(item.pk))]

    def test_update_fields_outside_of_only_give_no_hint(
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

    def test_pushed_row_is_hinted_with_its_table_and_columns(
        self, watching: Callable[[Watch], None], told: list[Hint]
    ) -> None:
        watching(Watch(Item, ("id", "score"), pushed=True))
        item = Item.objects.create(name="a", score=3)
        assert told == [("alone", Item._meta.db_table, f"{item.pk}:3")]
