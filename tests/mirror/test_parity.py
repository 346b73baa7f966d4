"""The central test: after any operations in any order, with crashes of the relay at any point, Redis is right at rest.

At rest, the live mirror equals a fresh rebuild and equals the content computed by the ORM.
"""

import pytest
from django.db import connection, transaction
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.mirror.parity_rules import NoteRules, numbers, pick, run
from tests.projects.mirrortest.models import Follow, Group, Item, Label

pytestmark = pytest.mark.also_on("sqlite", "cluster")


def items() -> list[Item]:
    return list(Item.objects.order_by("pk"))


class Site(NoteRules):
    """A state machine of users, programs and accidents on one database and one Redis."""

    count = 0

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    # --- the ORM, one row at a time

    @rule(score=numbers, group=numbers)
    def save(self, score: int, group: int) -> None:
        Item.objects.create(name=self.name(), score=score, group=pick(list(Group.objects.all()), group))

    @rule(which=numbers, score=numbers)
    def change(self, which: int, score: int) -> None:
        if item := pick(items(), which):
            item.score, item.name = score, self.name()
            item.save()

    @rule(which=numbers)
    def delete(self, which: int) -> None:
        if item := pick(items(), which):
            item.delete()

    @rule(which=numbers, other=numbers)
    def swap_names(self, which: int, other: int) -> None:
        one, two = pick(items(), which), pick(items(), other)
        if one and one != two:
            with transaction.atomic():
                Item.objects.filter(pk=one.pk).update(name=self.name())
                Item.objects.filter(pk=two.pk).update(name=one.name)
                Item.objects.filter(pk=one.pk).update(name=two.name)

    @rule()
    def add_group(self) -> None:
        Group.objects.create(name=self.name())

    @rule(which=numbers)
    def delete_group_and_its_items(self, which: int) -> None:
        if group := pick(list(Group.objects.all()), which):
            group.delete()

    @rule(which=numbers)
    def rename_group(self, which: int) -> None:
        if group := pick(list(Group.objects.all()), which):
            group.name = self.name()
            group.save()

    @rule(a=numbers, b=numbers)
    def follow(self, a: int, b: int) -> None:
        Follow.objects.get_or_create(follower=a, followed=b)

    @rule(a=numbers)
    def unfollow(self, a: int) -> None:
        Follow.objects.filter(follower=a).delete()

    # --- links

    @rule(which=numbers, how=st.sampled_from(["add", "remove", "set", "clear"]), labels=st.sets(numbers, max_size=3))
    def link(self, which: int, how: str, labels: set[int]) -> None:
        if item := pick(items(), which):
            found = [Label.objects.get_or_create(name=f"l{n}")[0] for n in labels]
            if how == "clear":
                item.labels.clear()
            elif how == "set":
                item.labels.set(found)
            else:
                getattr(item.labels, how)(*found)

    @rule(which=numbers)
    def rename_label(self, which: int) -> None:
        if label := pick(list(Label.objects.order_by("pk")), which):
            Label.objects.filter(pk=label.pk).update(name=self.name())

    @rule(which=numbers)
    def delete_label(self, which: int) -> None:
        if label := pick(list(Label.objects.order_by("pk")), which):
            label.delete()

    # --- many rows at once, and writes without the ORM

    @rule(count=st.integers(1, 5))
    def bulk_create(self, count: int) -> None:
        made = Item.objects.bulk_create(Item(name=self.name(), score=n) for n in range(count))
        Item.labels.through.objects.bulk_create(
            Item.labels.through(item=item, label=label) for item in made for label in Label.objects.all()[:2]
        )

    @rule(score=numbers)
    def bulk_update(self, score: int) -> None:
        rows = items()
        for item in rows:
            item.score = score + item.pk % 3
        Item.objects.bulk_update(rows, ["score"])

    @rule(score=numbers, hidden=st.booleans())
    def update(self, score: int, hidden: bool) -> None:
        Item.objects.filter(score=score).update(hidden=hidden, score=score + 1)

    @rule(score=numbers)
    def raw_sql(self, score: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE mirrortest_item SET score = score + 1 WHERE score = %s", [score])
            cursor.execute(
                "INSERT INTO mirrortest_item (name, score, hidden) VALUES (%s, %s, %s)", [self.name(), score, False]
            )

    @rule(which=numbers)
    def raw_delete(self, which: int) -> None:
        if item := pick(items(), which):
            Item.labels.through.objects.filter(item=item)._raw_delete("default")
            Item.objects.filter(pk=item.pk)._raw_delete("default")

    @rule()
    def empty_the_table(self) -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("TRUNCATE mirrortest_follow")
            else:
                cursor.execute("DELETE FROM mirrortest_follow")

    # --- rolled back transactions

    @rule(which=numbers)
    def roll_back(self, which: int) -> None:
        with transaction.atomic():
            self.save(1, 1)
            self.delete(which)
            transaction.set_rollback(True)

    @rule(which=numbers)
    def roll_back_to_a_savepoint_then_write(self, which: int) -> None:
        with transaction.atomic():
            with transaction.atomic():
                self.change(which, 1)
                transaction.set_rollback(True)
            self.change(which, 2)

    def others_go_on(self, which: int) -> None:
        super().others_go_on(which)
        self.change(which, which)
        self.delete(which + 1)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_live_mirror_equals_a_fresh_rebuild_and_the_orm_at_rest() -> None:
    run(Site)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_window_equals_the_orm_at_rest() -> None:
    run(NoteRules)
