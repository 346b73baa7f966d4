"""Whatever changes a watched row, and however, is in the outbox."""

from collections.abc import Iterable

import pytest
from django.db.models import F

from tests.support.mirror.app.models import Follow, Group, Item, Label, Odd
from tests.support.mirror.outbox import changes, of_items, run

pytestmark = pytest.mark.django_db

LABEL = Label._meta.db_table
GROUP = Group._meta.db_table


def make_items(names: Iterable[str]) -> list[Item]:
    """Items that are there already: their changes are forgotten."""
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


def test_save_of_a_new_row_is_one_change_for_each_mirror() -> None:
    item = Item.objects.create(name="new")
    assert changes() == of_items(item)


def test_save_of_an_old_row_is_one_change_for_each_mirror(item: Item) -> None:
    item.score = 7
    item.save()
    assert changes() == of_items(item)


def test_delete_is_a_change(item: Item) -> None:
    said = of_items(item)
    item.delete()
    assert changes() == said


def test_delete_cascades_to_the_changes_of_what_goes_with_the_row(label: Label) -> None:
    group = Group.objects.create(name="g")
    item = Item.objects.create(name="in it", group=group)
    item.labels.add(label)
    changes()
    pk = str(group.pk)
    group.delete()
    of_the_link, of_the_items_group = ("titem", "", str(item.pk)), ("tgroup", "", pk)
    of_the_group = [("titem", GROUP, pk), ("tgroup", "", pk)]
    assert changes() == sorted([*of_items(item), of_the_link, of_the_items_group, *of_the_group])


def test_a_row_that_moves_is_a_change_of_where_it_was_and_of_where_it_is(item: Item) -> None:
    old, new = Group.objects.create(name="old"), Group.objects.create(name="new")
    Item.objects.update(group=old)
    changes()
    Item.objects.update(group=new)
    assert changes() == sorted([*of_items(item), ("tgroup", "", str(old.pk)), ("tgroup", "", str(new.pk))])


def test_a_key_that_is_null_before_or_after_gives_only_the_other(item: Item) -> None:
    group = Group.objects.create(name="g")
    changes()
    for where in (group, None):
        Item.objects.update(group=where)
        assert changes() == sorted([*of_items(item), ("tgroup", "", str(group.pk))])


def test_a_row_without_a_key_is_no_change() -> None:
    Odd.objects.create(code=None)
    Odd.objects.update(code=None)
    Odd.objects.all().delete()
    assert changes() == []


def test_adding_links_is_a_change_of_the_item(item: Item, label: Label) -> None:
    item.labels.add(label)
    assert changes() == [("titem", "", str(item.pk))]


@pytest.mark.parametrize("how", ["remove", "set", "clear", "from the other end"])
def test_taking_links_away_is_a_change_of_the_item(how: str, item: Item, label: Label) -> None:
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


def test_deleting_a_label_is_a_change_of_the_label_and_of_the_linked_items(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    pk = str(label.pk)
    label.delete()
    assert changes() == sorted([("titem", "", str(item.pk)), ("titem", LABEL, pk)])


def test_renaming_a_label_names_the_label_and_not_its_items(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    Label.objects.update(name="blue")
    assert changes() == [("titem", LABEL, str(label.pk))]


def test_update_of_many_rows_names_each() -> None:
    items = make_items(["a", "b", "c"])
    assert Item.objects.exclude(name="b").update(score=F("score") + 1) == 2
    assert changes() == of_items(items[0], items[2])


def test_an_update_of_no_rows_is_no_change(item: Item) -> None:
    Item.objects.filter(name="nobody").update(score=1)
    assert changes() == []


def test_bulk_create_names_each_row() -> None:
    items = Item.objects.bulk_create([Item(name=str(i)) for i in range(50)], batch_size=20)
    assert changes() == of_items(*items)


def test_bulk_update_names_each_row() -> None:
    items = make_items(str(i) for i in range(50))
    for item in items:
        item.score = item.pk
    Item.objects.bulk_update(items, ["score"], batch_size=20)
    assert changes() == of_items(*items)


def test_bulk_create_that_updates_on_conflict_names_both_kinds_of_rows(item: Item) -> None:
    rows = [Item(name="old", score=5), Item(name="new", score=6)]
    Item.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["score"])
    assert changes() == of_items(*Item.objects.all())
    assert Item.objects.get(name="old").score == 5


def test_bulk_create_that_ignores_conflicts_names_only_what_was_made(item: Item) -> None:
    Item.objects.bulk_create([Item(name="old", score=5), Item(name="new")], ignore_conflicts=True)
    assert changes() == of_items(Item.objects.get(name="new"))


def test_raw_insert_update_and_delete_are_changes() -> None:
    table = Follow._meta.db_table
    for sql in (
        f"INSERT INTO {table} (follower, followed) VALUES (1, 2)",
        f"UPDATE {table} SET id = id WHERE follower = 1",
        f"DELETE FROM {table}",
    ):
        run(sql)
        assert changes() == [("tfollow", "", "1:2")], sql


@pytest.mark.on_sqlite
def test_replace_is_a_change_of_the_row_that_it_takes_away(item: Item) -> None:
    run(f"REPLACE INTO {Item._meta.db_table} (name, score, hidden) VALUES ('old', 1, 0)")
    new = Item.objects.get(name="old")
    assert new.pk != item.pk
    assert changes() == of_items(item, new)


def test_raw_delete_is_a_change(item: Item) -> None:
    Item.objects.all()._raw_delete(Item.objects.db)
    assert changes() == of_items(item)


def test_an_update_of_the_key_itself_names_both_keys() -> None:
    Follow.objects.create(follower=1, followed=2)
    changes()
    Follow.objects.update(followed=3)
    assert changes() == [("tfollow", "", "1:2"), ("tfollow", "", "1:3")]


def test_an_update_of_the_primary_key_names_both_keys(item: Item) -> None:
    said = of_items(item)
    Item.objects.update(id=F("id") + 1000)
    assert changes() == sorted(said + of_items(Item.objects.get()))


def test_rows_that_swap_their_keys_are_both_named() -> None:
    Follow.objects.bulk_create([Follow(follower=1, followed=2), Follow(follower=2, followed=1)])
    changes()
    # By a third value, because a constraint holds for every row at every moment.
    Follow.objects.update(follower=F("follower") + 10, followed=F("followed") + 10)
    Follow.objects.update(follower=F("followed") - 10, followed=F("follower") - 10)
    assert {key for _, _, key in changes()} == {"1:2", "2:1", "11:12", "12:11"}


def test_names_with_quotes_and_other_scripts_are_written_as_they_are() -> None:
    odd = Odd.objects.create(code='it\'s "ünïcode" \\ 表 %s')
    assert changes() == [("t'odd", "", 'it\'s "ünïcode" \\ 表 %s')]
    odd.delete()
    assert changes() == [("t'odd", "", 'it\'s "ünïcode" \\ 表 %s')]


def test_a_change_of_letter_case_names_both_keys() -> None:
    Odd.objects.create(code="abc")
    changes()
    Odd.objects.update(code="ABC")
    assert changes() == [("t'odd", "", "ABC"), ("t'odd", "", "abc")]


def test_a_link_table_names_an_item_once_a_statement_where_statements_are_seen(item: Item, postgres: bool) -> None:
    labels = Label.objects.bulk_create([Label(name=str(i)) for i in range(5)])
    changes()
    item.labels.add(*labels)
    assert changes() == [("titem", "", str(item.pk))] * (1 if postgres else 5)


@pytest.mark.on_postgres
@pytest.mark.django_db(transaction=True)
def test_truncate_concerns_every_mirror_that_watches_the_table(item: Item, label: Label) -> None:
    item.labels.add(label)
    changes()
    run(f"TRUNCATE {LABEL} CASCADE")
    # The label's own table, and the links that went with it.
    assert changes() == [("titem", "", "*"), ("titem", "", "*")]
    run(f"TRUNCATE {Follow._meta.db_table}")
    assert changes() == [("tfollow", "", "*")]


@pytest.mark.on_postgres
def test_a_schema_in_front_of_the_search_path_cannot_catch_the_changes() -> None:
    run("CREATE SCHEMA before")
    run("CREATE TABLE before.mirror_change (LIKE public.mirror_change)")
    run("SET LOCAL search_path = before, public")
    item = Item.objects.create(name="seen")
    run("SET LOCAL search_path = public")
    assert changes() == of_items(item)
