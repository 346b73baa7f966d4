"""The migrations that fold rows again keep every account, vote, count and post, also where two names become one."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from accounts.models import AuditEvent, User
from accounts.selectors import find_user_id
from catalog.models import Book, Tag, TagAlias, Tagging, TagVote
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from social.models import Hashtag, Post
from tests.support.warm_mirrors import catch_up

PASSWORD = "a quiet bookshop"
MIGRATIONS = (
    "accounts.migrations.0018_fold_again",
    "catalog.migrations.0008_fold_again",
    "social.migrations.0003_fold_again",
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


@pytest.fixture
def fold_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def run() -> None:
        for name in MIGRATIONS:
            migration = import_module(name)
            monkeypatch.setattr(migration, "BATCH", 2)
            with connection.schema_editor() as editor:
                migration.fold_again(apps, editor)

    return run


def write(table: str, column: str, value: str, pk: int) -> None:
    """Write the form of a name that the site stored before."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", [value, pk])


def make_user(name: str, key: str, **fields: Any) -> User:
    user = User.objects.create_user(f"user {User.objects.count()}", password=PASSWORD, **fields)
    write("accounts_user", "username", name, user.pk)
    write("accounts_user", "name_key", key, user.pk)
    return user


def make_tag(name: str, table: str = "catalog_tag", **fields: Any) -> int:
    model: Any = Tag if table == "catalog_tag" else TagAlias
    made = model.objects.create(name=f"tag {model.objects.count()}", **fields)
    write(table, "name", name, made.pk)
    return int(made.pk)


def assert_all_equal() -> None:
    drain_all()
    assert verify() == []


def test_a_name_moves_to_its_new_form(fold_again: Callable[[], None]) -> None:
    reader = make_user("İsmail", "i̇smail")
    catch_up()
    fold_again()
    assert_all_equal()
    assert [find_user_id(name) for name in ("ismail", "İSMAİL", "ISMAIL")] == [reader.pk] * 3
    assert Client().login(username="İSMAİL", password=PASSWORD)
    assert User.objects.get().username == "İsmail"


def test_of_two_users_with_one_name_the_first_keeps_it(fold_again: Callable[[], None]) -> None:
    first = make_user("İsmail", "i̇smail")
    taken = make_user("ismail-2", "ismail-2")
    second = make_user("ismail", "ismail")
    third = make_user("ısmail", "ısmail")
    fourth = make_user("i̇smaİl", "i̇smai̇l")
    for user in (second, fourth):
        Post.objects.create(user=user, text="kept")
    catch_up()
    fold_again()
    assert_all_equal()
    names = dict(User.objects.values_list("pk", "username"))
    assert [names[user.pk] for user in (first, taken, second, third, fourth)] == [
        "İsmail", "ismail-2", "ismail-3", "ısmail-4", "i̇smaİl-5",
    ]  # fmt: skip
    for user in (first, taken, second, third, fourth):
        assert find_user_id(names[user.pk]) == user.pk
        assert Client().login(username=names[user.pk], password=PASSWORD)
    assert Post.objects.filter(user__in=[second, fourth]).count() == 2
    renamed = AuditEvent.objects.filter(kind="staff").order_by("pk").values_list("object_id", "object")
    assert sorted(renamed) == sorted((str(user.pk), names[user.pk]) for user in (second, third, fourth))


def test_a_second_run_changes_nothing(fold_again: Callable[[], None]) -> None:
    make_user("İsmail", "i̇smail")
    make_user("ismail", "ismail")
    fold_again()
    before = list(User.objects.order_by("pk").values())
    fold_again()
    assert list(User.objects.order_by("pk").values()) == before


def test_tags_that_become_one_keep_counts_votes_and_aliases(fold_again: Callable[[], None]) -> None:
    reader, other = make_user("ann", "ann"), make_user("bob", "bob")
    book, second = (Book.objects.create(title=title) for title in ("One", "Two"))
    dotted, plain = make_tag("i̇zmir"), make_tag("izmir")
    make_tag("turki̇sh", "catalog_tagalias", tag_id=dotted)
    make_tag("turkish", "catalog_tagalias", tag_id=dotted)
    for tag, on, count in ((dotted, book, 3), (plain, book, 4), (dotted, second, 5)):
        Tagging.objects.create(tag_id=tag, book=on, imported_count=count)
    for tag, user in ((dotted, reader), (plain, reader), (dotted, other)):
        TagVote.objects.create(tag_id=tag, book=book, user=user)
    catch_up()
    fold_again()
    assert_all_equal()
    (tag,) = Tag.objects.all()
    assert tag.name == "izmir"
    assert set(Tagging.objects.values_list("book", "imported_count")) == {(book.pk, 7), (second.pk, 5)}
    assert sorted(TagVote.objects.values_list("user", "tag")) == sorted([(reader.pk, tag.pk), (other.pk, tag.pk)])
    assert list(TagAlias.objects.values_list("name", "tag")) == [("turkish", tag.pk)]
    for spelled in ("izmir", "İZMİR"):
        assert Client().get("/books/", {"q": spelled}, headers={"Accept": "application/json"}).json()["count"] == 2


def test_a_tag_that_becomes_an_alias_is_merged(fold_again: Callable[[], None]) -> None:
    into, old = make_tag("fiction"), make_tag("fi\u0307ction novels")
    make_tag("fiction novels", "catalog_tagalias", tag_id=into)
    book = Book.objects.create(title="One")
    Tagging.objects.create(tag_id=old, book=book)
    fold_again()
    assert list(Tagging.objects.values_list("tag", "book")) == [(into, book.pk)]
    assert list(Tag.objects.values_list("pk", flat=True)) == [into]


def test_hashtags_that_become_one_are_kept_once_per_post(fold_again: Callable[[], None]) -> None:
    author = make_user("ann", "ann")
    posts = [Post.objects.create(user=author, text=f"#İzmir {n}") for n in range(3)]
    for post, names in zip(posts, (["i̇zmir", "izmir"], ["i̇zmir"], ["ızmır"]), strict=True):
        for name in names:
            write("social_hashtag", "name", name, Hashtag.objects.create(post=post, name=f"tag{name}").pk)
    catch_up()
    fold_again()
    assert_all_equal()
    assert sorted(Hashtag.objects.values_list("post", "name")) == sorted((post.pk, "izmir") for post in posts)
    page = Client().get("/tags/İzmir/", headers={"Accept": "application/json"}).json()
    assert [each["id"] for each in page["results"]] == [post.pk for post in reversed(posts)]


def test_locked_out_names_in_the_audit_log_can_still_be_erased(fold_again: Callable[[], None]) -> None:
    event = AuditEvent.objects.create(kind="locked out", object="i̇smail")
    fold_again()
    event.refresh_from_db()
    assert event.object == "ismail"
