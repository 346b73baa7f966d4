"""Every kind of write to a watched row appends changes to the outbox."""

from collections.abc import Iterable

import pytest
from django.db.models import F

from mirror.outbox.changes import WHOLE
from tests.projects.mirrortest.models import Follow, Group, Item, Label, Odd
from tests.support.mirror.outbox import changes, of_items, run

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]

LABEL = Label._meta.db_table
GROUP = Group._meta.db_table


def make_items(names: Iterable[str]) -> list[Item]:
    """Create items and delete their changes."""
    items = Item.objects.bulk_create([Item(name=name) for name in names])
    changes()
    return items


@pytest.fixture
def item() -> Item:
    return make_items(["old"])[0]


@pytest.fixture
def label() -> Label:
    label = Label.objects.create(name="red")
    changes()
    return label


def test_saving_a_new_row_appends_one_change_per_mirror() -> None:
    item = Item.objects.create(name="new")
    assert changes() == of_items(item)


def test_saving_an_existing_row_appends_one_change_per_mirror(item: Item) -> None:
    item.score = 7
    item.save()
    assert changes() == of_items(item)


def test_deleting_a_row_appends_changes(item: Item) -> None:
    said = of_items(item)
    item.delete()
    assert changes() == said


def test_cascading_delete_appends_changes_of_all_affected_rows(label: Label) -> None:
    group = Group.objects.create(name="g")
    item = Item.objects.create(name="in it", group=group)
    item.labels.add(label)
    changes()
    pk = str(group.pk)
    group.delete()
    of_the_link, of_the_items_group = ("titem", "", str(item.pk)), ("tgroup", "", pk)
    of_the_group = [("tgroup", "", pk), ("titem", GROUP, pk)]
    assert changes() == sorted([*of_items(item), of_the_link, of_the_items_group, *of_the_group])


def test_changed_foreign_key_appends_changes_of_both_targets(item: Item) -> None:
    old, new = Group.objects.create(name="old"), Group.objects.create(name="new")
    Item.objects.update(group=old)
    changes()
    Item.objects.update(group=new)
    assert changes() == sorted([*of_items(item), ("tgroup", "", str(old.pk)), ("tgroup", "", str(new.pk))])


def test_null_before_or_after_appends_a_change_of_the_other_key_only(item: Item) -> None:
    group = Group.objects.create(name="g")
    changes()
    for where in (group, None):
        Item.objects.update(group=where)
        assert changes() == sorted([*of_items(item), ("tgroup", "", str(group.pk))])


def test_null_key_appends_nothing() -> None:
    Odd.objects.create(code=None)
    Odd.objects.update(code=None)
    Odd.objects.all().delete()
    assert changes() == []


def test_added_links_append_a_change_of_the_item(item: Item, label: Label) -> None:
    item.labels.add(label)
    assert changes() == [("titem", "", str(item.pk))]


@pytest.mark.parametrize("how", ["remove", "set", "clear", "from the other end"])
def test_removed_links_append_a_change_of_the_item(how: str, item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    if how == "remove":
        item.labels.remove(label)
    elif how == "set":
        item.labels.set([])
    elif how == "clear":
        item.labels.clear()
    else:
        label.items.remove(item)
    assert changes() == [("titem", "", str(item.pk))]


def test_deleted_label_appends_changes_of_linked_items(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    pk = str(label.pk)
    label.delete()
    assert changes() == [("titem", "", str(item.pk)), ("titem", LABEL, pk)]


def test_renamed_label_appends_a_change_of_the_label_only(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    Label.objects.update(name="blue")
    assert changes() == [("titem", LABEL, str(label.pk))]


def test_update_appends_a_change_of_each_row() -> None:
    items = make_items(["a", "b", "c"])
    assert Item.objects.exclude(name="b").update(score=F("score") + 1) == 2
    assert changes() == of_items(items[0], items[2])


def test_update_of_no_rows_appends_nothing(item: Item) -> None:
    Item.objects.filter(name="nobody").update(score=1)
    assert changes() == []


def test_bulk_create_appends_a_change_of_each_row() -> None:
    items = Item.objects.bulk_create([Item(name=str(i)) for i in range(50)], batch_size=20)
    assert changes() == of_items(*items)


def test_bulk_update_appends_a_change_of_each_row() -> None:
    items = make_items(str(i) for i in range(50))
    for item in items:
        item.score = item.pk
    Item.objects.bulk_update(items, ["score"], batch_size=20)
    assert changes() == of_items(*items)


def test_bulk_create_with_update_conflicts_appends_changes_of_new_and_updated_rows(item: Item) -> None:
    rows = [Item(name="old", score=5), Item(name="new", score=6)]
    Item.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["score"])
    assert changes() == of_items(*Item.objects.all())
    assert Item.objects.get(name="old").score == 5


def test_bulk_create_with_ignore_conflicts_appends_changes_of_new_rows_only(item: Item) -> None:
    Item.objects.bulk_create([Item(name="old", score=5), Item(name="new")], ignore_conflicts=True)
    assert changes() == of_items(Item.objects.get(name="new"))


def test_raw_insert_update_and_delete_append_changes() -> None:
    table = Follow._meta.db_table
    for sql in (
        f"INSERT INTO {table} (follower, followed) VALUES (1, 2)",
        f"UPDATE {table} SET id = id WHERE follower = 1",
        f"DELETE FROM {table}",
    ):
        run(sql)
        assert changes() == [("tfollow", "", "1:2")], sql


@pytest.mark.only_on("sqlite")
def test_replace_appends_a_change_of_the_row_that_it_removes(item: Item) -> None:
    run(f"REPLACE INTO {Item._meta.db_table} (name, score, hidden) VALUES ('old', 1, 0)")
    new = Item.objects.get(name="old")
    assert new.pk != item.pk
    assert changes() == of_items(item, new)


def test_raw_delete_appends_a_change(item: Item) -> None:
    Item.objects.all()._raw_delete(Item.objects.db)
    assert changes() == of_items(item)


def test_updated_key_columns_append_changes_of_both_keys() -> None:
    Follow.objects.create(follower=1, followed=2)
    changes()
    Follow.objects.update(followed=3)
    assert changes() == [("tfollow", "", "1:2"), ("tfollow", "", "1:3")]


def test_updated_primary_key_appends_changes_of_both_keys(item: Item) -> None:
    before = str(item.pk)
    Item.objects.update(id=F("id") + 1000)
    assert changes() == sorted([*of_items(Item.objects.get()), ("titem", "", before)])


def test_swapped_keys_append_changes_of_both_rows() -> None:
    Follow.objects.bulk_create([Follow(follower=1, followed=2), Follow(follower=2, followed=1)])
    changes()
    # Through third values, because the unique constraint holds for every row at every moment.
    Follow.objects.update(follower=F("follower") + 10, followed=F("followed") + 10)
    Follow.objects.update(follower=F("followed") - 10, followed=F("follower") - 10)
    assert {key for _, _, key in changes()} == {"1:2", "2:1", "11:12", "12:11"}


def test_quotes_and_non_ascii_keys_are_captured_unchanged() -> None:
    odd = Odd.objects.create(code='it\'s "ünïcode" \\ 表 %s')
    assert changes() == [("t'odd", "", 'it\'s "ünïcode" \\ 表 %s')]
    odd.delete()
    assert changes() == [("t'odd", "", 'it\'s "ünïcode" \\ 表 %s')]


def test_changed_letter_case_appends_changes_of_both_keys() -> None:
    Odd.objects.create(code="abc")
    changes()
    Odd.objects.update(code="ABC")
    assert changes() == [("t'odd", "", "ABC"), ("t'odd", "", "abc")]


def test_statement_triggers_append_one_change_per_item_for_many_links(item: Item, postgres: bool) -> None:
    labels = Label.objects.bulk_create([Label(name=str(i)) for i in range(5)])
    changes()
    item.labels.add(*labels)
    assert changes() == [("titem", "", str(item.pk))] * (1 if postgres else 5)


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
def test_truncate_appends_a_change_of_everything_for_each_watching_mirror(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    run(f"TRUNCATE {LABEL} CASCADE")
    assert changes() == [("titem", "", WHOLE)] * 2  # for the labels, and for the links, which CASCADE truncates
    run(f"TRUNCATE {Follow._meta.db_table}")
    assert changes() == [("tfollow", "", WHOLE)]


@pytest.mark.only_on("postgres")
def test_tables_in_another_schema_do_not_receive_the_changes() -> None:
    run("CREATE SCHEMA before")
    run("CREATE TABLE before.mirror_change (LIKE public.mirror_change)")
    run("SET LOCAL search_path = before, public")
    item = Item.objects.create(name="seen")
    run("SET LOCAL search_path = public")
    assert changes() == of_items(item)
