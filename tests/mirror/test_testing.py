"""``mirror.testing``: tests of other projects drain inside their transactions, and leave no keys."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.utils import ProgrammingError
from django.test import TestCase, TransactionTestCase
from pytest_django.fixtures import Settings
from redis import Redis

from catalog.models import Book
from catalog.search.models import Document
from mirror import registry, testing
from mirror.models import Change
from mirror.outbox import changes
from mirror.read.reads import read
from mirror.redis import client, record, relay_client
from mirror.redis.keys import namespace
from mirror.relay import drains
from mirror.testing import MirrorTestMixin
from mirror.testing.plugin import drain_mirrors
from mirror.warm import cold
from tests.projects.mirrortest.models import Item

pytestmark = pytest.mark.also_on("cluster")

__all__ = ["drain_mirrors"]


def find_item(pk: int) -> bytes | None:
    """Return the record of an item, or None if SQL has to answer or Redis has none."""
    found = read(["titem"], lambda pipe: pipe.get(f"titem:{pk}"))
    return found.replies[0] if found else None


class PlainCaseTests(MirrorTestMixin, TestCase):
    """Each test runs in a transaction that is rolled back."""

    @classmethod
    def setUpTestData(cls) -> None:
        Item.objects.create(pk=1, name="shared")

    def test_changes_are_drained_on_demand(self) -> None:
        assert find_item(1) is None
        self.drain_mirrors()
        assert find_item(1)
        Item.objects.filter(pk=1).update(name="renamed")
        Item.objects.create(pk=2, name="new")
        assert b"shared" in (find_item(1) or b"")
        assert self.drain_mirrors() > 0
        assert b"renamed" in (find_item(1) or b"")
        assert find_item(2)

    def test_other_tests_leave_nothing(self) -> None:
        assert find_item(1) is None
        self.drain_mirrors()
        assert b"shared" in (find_item(1) or b"")
        assert find_item(2) is None

    def test_transaction_inside_the_test_is_refused_as_in_production(self) -> None:
        with transaction.atomic(), pytest.raises(ProgrammingError):
            self.drain_mirrors()

    def test_drains_of_the_code_under_test_are_still_refused(self) -> None:
        with pytest.raises(ProgrammingError):
            changes.refuse_transaction()


class CommittingCaseTests(MirrorTestMixin, TransactionTestCase):
    """Commits are real."""

    def test_changes_are_drained_on_demand(self) -> None:
        Item.objects.create(pk=1, name="a")
        self.drain_mirrors()
        assert find_item(1)
        assert drains.drain_all() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["first", "second"])
def test_fixture_drains_in_a_transaction(drain_mirrors: testing.Drain, name: str) -> None:
    assert find_item(1) is None
    Item.objects.create(pk=1, name=name)
    drain_mirrors()
    assert name.encode() in (find_item(1) or b"")
    assert not Change.objects.pending().exists()


@pytest.mark.django_db
def test_keys_are_removed_after_the_test(redis: Redis) -> None:
    with testing.own_mirrors():
        Item.objects.create(pk=1, name="a")
        testing.drain_mirrors()
        assert redis.exists("titem:1")
    assert list(client().scan_iter()) == []


@pytest.mark.django_db
def test_keys_of_the_site_are_never_removed(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    redis.set("titem:1", "the site's")
    monkeypatch.setattr(namespace, "current", lambda: "")
    with pytest.raises(ImproperlyConfigured), testing.own_mirrors():
        pass
    assert redis.exists("titem:1")


@pytest.mark.django_db
def test_first_drain_of_a_test_rebuilds_nothing(drain_mirrors: testing.Drain) -> None:
    Item.objects.create(pk=1, name="a")
    with record() as seen:
        drain_mirrors()
    assert find_item(1)
    # A rebuild of one mirror needs more than ten.
    assert len(seen.sql) < 3 * len(registry.all_mirrors())


@pytest.mark.django_db
def test_first_drain_of_a_test_writes_every_page_of_rows(drain_mirrors: testing.Drain, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}
    Item.objects.bulk_create(Item(pk=pk, name=f"item {pk}") for pk in range(1, 6))
    Change.objects.all().delete()  # which would write the same rows
    drain_mirrors()
    assert all(find_item(pk) for pk in range(1, 6))


@pytest.mark.django_db
def test_first_drain_of_a_test_removes_derived_rows_without_a_source(drain_mirrors: testing.Drain) -> None:
    book = Book.objects.create(title="Emma")
    Document.objects.create(id="b987654", text="gone", weight=1, keys=[])
    drain_mirrors()
    assert set(Document.objects.values_list("id", flat=True)) == {f"b{book.pk}"}


@pytest.mark.django_db
def test_mirror_that_a_test_makes_cold_is_rebuilt(drain_mirrors: testing.Drain, redis: Redis) -> None:
    Item.objects.create(pk=1, name="a")
    drain_mirrors()
    cold.make_cold("titem", relay_client())
    redis.set("titem:2", "a stray")
    assert find_item(1) is None
    drain_mirrors()
    assert find_item(1)
    assert not redis.exists("titem:2")
