"""Compare ranks among a million users with an index in SQL, and a login with one that is not mirrored."""

import random
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from itertools import cycle
from typing import Any, Final

from django.contrib import auth
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import connection, models, transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import LoginStats, User
from accounts.selectors import find_rank, read_leaderboard
from accounts.services import log_in, record_login
from accounts.sessions.engine import SessionStore
from loginlog.models import LoginMonth
from loginlog.services import mark_login_as
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from tests.bench.table import Comparison

MILLION, ASKED, LOGINS, WHOLE = 1_000_000, 20, 200, 40
PASSWORD: Final = "a long password of the bench"
UNMIRRORED: Final = "bench_loginstats"
MONTH: Final = date(2026, 1, 1)


class Stats(models.Model):  # noqa: DJ008
    """The fields of LoginStats in a table without triggers."""

    user = models.OneToOneField(User, on_delete=models.DO_NOTHING, primary_key=True, related_name="+")
    login_times = models.PositiveIntegerField(default=0)
    last_login_time = models.DateTimeField()

    class Meta:
        app_label = "accounts"
        managed = False
        db_table = UNMIRRORED
        indexes = [
            models.Index(*index.expressions, name=f"bench_{number}")
            for number, index in enumerate(LoginStats._meta.indexes)
        ]


class Months(models.Model):  # noqa: DJ008
    """The fields of LoginMonth that the ORM needs, in a table without triggers."""

    name = models.CharField(max_length=50, primary_key=True)
    user = models.ForeignKey(User, on_delete=models.DO_NOTHING, related_name="+")
    month = models.DateField()
    user_type = models.CharField(max_length=20)
    bits = models.PositiveIntegerField(default=0)

    class Meta:
        app_label = "accounts"
        managed = False
        db_table = "bench_loginmonth"
        indexes = [models.Index(fields=["month", "user_type", "name"], name="bench_by_month")]


def comparisons() -> Iterator[Comparison]:
    """Yield the cost of a login, and on PostgreSQL also ranks and a page of the leaderboard."""
    people = User.objects.bulk_create(User(username=f"bench {n}", password=make_password(None)) for n in range(LOGINS))
    with connection.schema_editor() as editor:
        editor.create_model(Stats)
        editor.create_model(Months)
    Stats._base_manager.bulk_create(Stats(user=user, last_login_time=timezone.now()) for user in people)
    rebuild(["user", "last_logins", "login_month"])
    for user in people:
        record_login(user)
    encoded = make_password(PASSWORD)
    User.objects.filter(pk__in=[user.pk for user in people[:WHOLE]]).update(password=encoded)
    known = people[:WHOLE]
    yield Comparison(
        "a whole login: password, session, counts, in Redis when it returns",
        "Django's login with sessions in SQL, counted by the ORM",
        f"{WHOLE} logins",
        ours=lambda: _do_for_each(known, _log_in_wholly),
        theirs=lambda: _do_for_each(known, _log_in_by_django),
        target=1 / 1.3,
    )
    days = cycle(range(1, 29))
    yield Comparison(
        "one login counted and logged, in Redis when it returns",
        "the same facts by the ORM, without a mirror",
        f"{LOGINS} logins of as many people, each a transaction, on a new day of the month",
        ours=lambda: _log_in_all(people, next(days)),
        theirs=lambda: _log_in_all_by_orm(people, next(days)),
        target=1 / 1.3,
    )
    yield Comparison(
        "one login recorded, in Redis when it returns",
        "the same facts by the ORM, without a mirror",
        f"{LOGINS} logins of as many people, each a transaction",
        ours=lambda: _each(people, record_login),
        theirs=lambda: _each(people, _count),
        target=1 / 1.6,
    )
    if connection.vendor == "postgresql":
        yield from _among_a_million()
    _clear()


def _do_for_each(people: list[User], do: Callable[[User], None]) -> None:
    for user in people:
        do(user)


def _log_in_wholly(user: User) -> None:
    request = _make_request(SessionStore())
    found = auth.authenticate(request, username=user.username, password=PASSWORD)
    assert isinstance(found, User)
    log_in(request, found)


def _log_in_by_django(user: User) -> None:
    """Do what ``django.contrib.auth.login`` does, and count the login by the ORM, without mirrors."""
    request = _make_request(DatabaseStore())
    found = ModelBackend().authenticate(request, username=user.username, password=PASSWORD)
    assert isinstance(found, User)
    with transaction.atomic():
        request.session.cycle_key()
        request.session[auth.SESSION_KEY] = str(found.pk)
        request.session[auth.BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        request.session[auth.HASH_SESSION_KEY] = found.get_session_auth_hash()
        _count(found)
        request.session.save()


def _make_request(session: SessionBase) -> HttpRequest:
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "192.0.2.1"
    request.session = session
    return request


def _each(people: list[User], do: Callable[[User], None]) -> None:
    _do_for_each(people, transaction.atomic(do))


def _log_in_all(people: list[User], day: int) -> None:
    for user in people:
        with transaction.atomic():
            record_login(user)
            mark_login_as(user.pk, user.user_type, MONTH.replace(day=day))


def _log_in_all_by_orm(people: list[User], day: int) -> None:
    for user in people:
        with transaction.atomic():
            _count(user)
            bit = 1 << (31 - day)
            months = Months._base_manager.filter(pk=f"{MONTH:%Y-%m}_{user.user_type}_{user.pk}")
            if not months.update(bits=F("bits").bitor(bit)):
                Months._base_manager.create(
                    name=f"{MONTH:%Y-%m}_{user.user_type}_{user.pk}",
                    user=user,
                    month=MONTH,
                    user_type=user.user_type,
                    bits=bit,
                )


def _count(user: User) -> None:
    Stats._base_manager.filter(user=user).update(login_times=F("login_times") + 1, last_login_time=timezone.now())


def _among_a_million() -> Iterator[Comparison]:
    sizes = f"{MILLION:,} people, half of them with one login; {ASKED} of them ask"
    yield Comparison(
        "my rank among a million",
        "PostgreSQL, counted in the index",
        sizes,
        ours=lambda: [find_rank(pk) for pk in _asked()],
        theirs=lambda: [_rank_by_index(pk) for pk in _asked()],
        target=300,
        before=_asked,
    )
    yield Comparison(
        "a page of the leaderboard of a million, around me",
        "the same page by SQL, as without Redis",
        sizes,
        ours=lambda: [read_leaderboard(pk, "me", is_whole=True) for pk in _asked()],
        theirs=lambda: [_by_sql(pk) for pk in _asked()],
        before=_asked,
    )


@cache
def _asked() -> list[int]:
    """Return the ids of users whose ranks are measured. Creates the million users on the first call."""
    _fill()
    people = list(User.objects.filter(username__startswith="bench").values_list("pk", flat=True))
    asked = random.Random(3).sample(people, ASKED)
    assert [_rank_by_index(pk) for pk in asked] == [find_rank(pk) for pk in asked]
    return asked


def _by_sql(pk: int) -> Any:
    with sql_only():
        return read_leaderboard(pk, "me", is_whole=True)


def _rank_by_index(pk: int) -> int:
    """Return a rank by the obvious query: it counts all rows of the table, so that the index alone answers it."""
    mine = LoginStats.objects.values_list("login_times", flat=True).get(pk=pk)
    return LoginStats.objects.filter(login_times__gt=mine).count() + 1


def _fill() -> None:
    """Create a million users with a realistic distribution of logins, and warm the mirrors."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_user (username, name_key, name_skeleton, password, session_secret, first_name,"
            " last_name, email, is_staff, is_active, is_superuser, date_joined, user_type)"
            " SELECT 'bench ' || n, 'bench ' || n, 'bench ' || n, '!', 's', '', '', '', false, true, false, now(),"
            " 'client'"
            " FROM generate_series(%s::bigint, %s) n",
            [LOGINS, MILLION - 1],
        )
        cursor.execute(
            "INSERT INTO accounts_loginstats (user_id, login_times, last_login_time)"
            " SELECT id, LEAST(1 / (1 - random()), 100000)::integer, now() - random() * interval '100 days'"
            " FROM accounts_user WHERE username LIKE 'bench%%' ON CONFLICT DO NOTHING"
        )
        cursor.execute("TRUNCATE mirror_change")
        cursor.execute("VACUUM ANALYZE accounts_user, accounts_loginstats")
    rebuild(["user", "last_logins"])


def _clear() -> None:
    """Delete all rows and keys, for the next benchmark."""
    with connection.schema_editor() as editor:
        editor.delete_model(Stats)
        editor.delete_model(Months)
    bench = User.objects.filter(username__startswith="bench")
    LoginStats.objects.filter(user__in=bench)._raw_delete("default")
    LoginMonth.objects.filter(user__in=bench)._raw_delete("default")
    bench._raw_delete("default")
    Change.objects.all()._raw_delete("default")
    relay_client().flushdb()
