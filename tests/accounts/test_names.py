"""No two users can have one name, by any kind of write, and a name finds its current user."""

import unicodedata
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from redis import Redis

from accounts import keys
from accounts.models import User
from accounts.selectors import find_user_id
from accounts.users import registration
from common.text import fold
from common.text.folding import MAX_FOLDED
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from tests.support.accounts.people import assert_redis_equals_sql, warm_users
from tests.support.servers import RedisServer

SAME = ["ken thompson", "KEN Thompson", "\uff4b\uff45\uff4e thompson"]
STRONG = "a quiet bookshop"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ken() -> User:
    warm_users()
    return User.objects.create_user("Ken Thompson")


def test_spellings_fold_to_one_name() -> None:
    assert {fold(name) for name in SAME} == {"ken thompson"}
    assert fold("STRASSE") == fold("straße")
    # The Angstrom sign, the letter, and the letter with a combining ring.
    assert fold("\u212b") == fold("Å") == fold("a\u030a")


@pytest.mark.parametrize("name", SAME)
def test_every_spelling_finds_the_user_in_one_round_trip(ken: User, name: str) -> None:
    with record() as seen:
        assert find_user_id(name) == ken.pk
    assert (seen.round_trips, seen.sql) == (1, [])
    with sql_only():
        assert find_user_id(name) == ken.pk


@pytest.mark.parametrize("name", ["nobody", "", "ken", "ken thompson:id", "login_times", "\0", "\ud800", "x" * 5000])
def test_other_names_find_no_user(ken: User, name: str) -> None:
    assert find_user_id(name) is None
    with sql_only():
        assert find_user_id(name) is None


@pytest.mark.parametrize("name", SAME)
def test_registering_another_spelling_is_refused(ken: User, name: str) -> None:
    with pytest.raises(ValidationError):
        registration.register_user(name, STRONG)


@pytest.mark.parametrize("name", SAME)
def test_no_kind_of_write_can_take_the_name(ken: User, name: str) -> None:
    other = User.objects.create_user("other")
    other.username = name
    ways: list[Any] = [
        lambda: User.objects.create(username=name),
        lambda: User.objects.bulk_create([User(username="fresh"), User(username=name)]),
        lambda: User.objects.filter(pk=other.pk).update(username=name),
        lambda: User.objects.bulk_update([other], ["username"]),
        lambda: other.save(update_fields=["username", "name_key"]),
        other.save,
    ]
    for way in ways:
        with pytest.raises(IntegrityError), transaction.atomic():
            way()
    assert find_user_id(name) == ken.pk
    assert_redis_equals_sql()


def test_a_name_computed_in_sql_is_refused(ken: User) -> None:
    for name in (F("email"), Concat(F("username"), Value("x"))):
        with pytest.raises(TypeError):
            User.objects.update(username=name)


def test_a_rename_moves_the_name(ken: User, redis: Redis) -> None:
    ken.username = "Dennis"
    ken.save()
    assert redis.get(keys.login_id("dennis")) == str(ken.pk).encode()
    assert not redis.exists(keys.login_id("ken thompson"))
    User.objects.filter(pk=ken.pk).update(username="Joe")
    assert_redis_equals_sql()
    assert [find_user_id(name) for name in ("Ken Thompson", "Dennis", "JOE")] == [None, None, ken.pk]
    ken.username = "Rob"
    User.objects.bulk_update([ken], ["username"])
    assert_redis_equals_sql()
    assert [find_user_id(name) for name in ("joe", "ROB")] == [None, ken.pk]


def test_users_can_exchange_their_names(ken: User) -> None:
    rob = User.objects.create_user("Rob")
    with transaction.atomic():
        User.objects.filter(pk=ken.pk).update(username="in between")
        User.objects.filter(pk=rob.pk).update(username="Ken Thompson")
        User.objects.filter(pk=ken.pk).update(username="Rob")
    assert_redis_equals_sql()
    assert (find_user_id("ken thompson"), find_user_id("rob")) == (rob.pk, ken.pk)


def test_the_name_of_a_deleted_user_is_available(ken: User) -> None:
    ken.delete()
    drains.drain_all()  # outside of a request the relay applies deletions
    assert find_user_id("ken thompson") is None
    heir = User.objects.create_user("KEN THOMPSON")
    assert find_user_id("ken thompson") == heir.pk
    assert_redis_equals_sql()


def test_names_that_look_like_keys_cause_no_conflict(redis: Redis) -> None:
    warm_users()
    for name in ("login_times", "last_login_times", "5", "1.id"):
        user = User.objects.create(username=name)
        assert find_user_id(name) == user.pk
    assert_redis_equals_sql()


def test_without_redis_names_are_looked_up_in_sql(redis_server: RedisServer) -> None:
    ken = User.objects.create_user("Ken Thompson")
    redis_server.kill()
    assert find_user_id("ken thompson") == ken.pk


def test_no_long_text_is_normalised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form may send megabytes, and sorting the marks on one letter takes quadratic time."""
    seen: list[int] = []
    normalise = unicodedata.normalize

    def note(form: Any, text: str) -> str:
        seen.append(len(text))
        return normalise(form, text)

    monkeypatch.setattr(unicodedata, "normalize", note)
    fold("a" + "\u0301\u0316" * 4000)
    assert max(seen) <= MAX_FOLDED
