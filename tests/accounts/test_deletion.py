"""Deletion of an account: hidden at once, deleted after a grace period, without any personal data left."""

import gzip
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.audit.log import record_event
from accounts.deletion import services as deletion
from accounts.lockout.models import FailedLogins
from accounts.models import AccountDeletion, AuditEvent, LoginStats, Suspension, User
from accounts.notifications.models import Notification
from accounts.tasks import delete_accounts
from accounts.users.renaming import keep_former_name
from loginlog import services
from loginlog.archive import expiry
from loginlog.tasks import sync
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.redis.lease import lease
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from shop.models import Order, OrderState, Payment, PaymentState, Refund, Return, ReturnState, View
from shop.services.carts import add_copies
from shop.services.refunds import REFUNDED_BY_STAFF, refund_order
from social.models import Block, Follow, Like, Mention, Mute, Post
from social.moderation.models import Action, Case, Kind, Reason
from social.moderation.services.appeals import appeal_decision
from social.moderation.services.decisions import Ruling, decide_case
from social.moderation.services.reports import Reporter, report_target
from social.moderation.targets import find_target
from social.services.posts import create_post, edit_post
from tests.support.accounts.factors import add_app, present_code
from tests.support.accounts.mail import deliver_emails
from tests.support.accounts.sessions import PASSWORD, log_in, read_digest, read_token
from tests.support.killed import Killed
from tests.support.loginlog.tools import ago, mirror_logins
from tests.support.servers.cluster import has_cluster
from tests.support.shop.book_views import consume_views
from tests.support.shop.make import make_order, make_product
from tests.support.warm_mirrors import rebuild

PATH = "/accounts/delete/"
# Values that occur nowhere else by chance.
USER_ID, NAME, FORMER_NAME, EMAIL = 987_654_321, "quillfeather", "plumefeather", "quill@feather.example"
pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """A clock of the site that a test can set."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return timezone.now() + self.ahead


@pytest.fixture
def clock(settings: Settings) -> Clock:
    found = Clock()
    settings.CLOCK = found
    return found


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.LOGINLOG_FOLDER = tmp_path
    return tmp_path


@pytest.fixture
def quill(clock: Clock, folder: Path) -> User:
    rebuild()
    mirror_logins()
    user = User.objects.create_user(NAME, email=EMAIL, password=PASSWORD)
    User.objects.filter(pk=user.pk).update(id=USER_ID)
    return User.objects.get(pk=USER_ID)


class Life:
    """Data of the user quill in every application. secrets: texts that identify the user."""

    def __init__(self, quill: User) -> None:
        self.quill, self.other = quill, User.objects.create_user("other", password=PASSWORD)
        self.client = log_in(quill)
        self.digests = [read_digest(self.client)]
        self.product = make_product("A book")
        self._talk()
        self._buy()
        self._report()
        services.mark_logins([(quill.pk, "client", ago(0)), (quill.pk, "client", ago(100))])
        expiry.expire_months(31)
        failed = {"kind": "pair", "address": "192.0.2.1", "count": 1, "allowed": 5, "ends_at": timezone.now()}
        counters = [FailedLogins.objects.create(key=name, name=name, **failed) for name in (NAME, FORMER_NAME, EMAIL)]
        record_event(AuditEvent.Kind.LOCKED_OUT, FORMER_NAME, "pair")
        keep_former_name(quill, FORMER_NAME)
        for row in (quill, self.posts[0], Suspension(user=quill), *counters):
            LogEntry.objects.create(
                user=self.other,
                content_type=ContentType.objects.get_for_model(row),
                object_id=str(row.pk),
                object_repr=str(row),
                action_flag=CHANGE,
            )
        drain_all()
        self.secrets = [str(quill.pk), NAME, FORMER_NAME, EMAIL, "Feather Lane", read_token(self.client), *self.digests]

    def _talk(self) -> None:
        quill, other = self.quill, self.other
        self.posts = posts = [create_post(quill.pk, f"Line {n} for @other #{NAME}") for n in range(3)]
        theirs = create_post(other.pk, "Good morning")
        create_post(other.pk, "A reply", parent_id=posts[1].pk)
        assert edit_post(posts[2].pk, f"Another line about {NAME}", by=quill.pk)
        Mention.objects.create(post=theirs, user=quill, name=NAME)
        for liker, post in ((quill, theirs), (quill, posts[0]), (other, posts[0])):
            Like.objects.create(user=liker, post=post)
        for one, two in ((quill, other), (other, quill)):
            Follow.objects.create(follower=one, followee=two)
            Block.objects.create(blocker=one, blocked=two)
            Mute.objects.create(user=one, muted=two)

    def _buy(self) -> None:
        self.client.get(f"/books/{self.product.pk}/")
        consume_views()
        self.order = make_order(
            self.quill, self.product, email=EMAIL, name=NAME, address="1 Feather Lane", state=OrderState.SENT
        )
        add_copies(self.digests[0], self.product.pk, 2)
        texts = {"note": f"From {NAME}", "answer": f"Dear {NAME}"}
        Return.objects.create(order=self.order, state=ReturnState.REFUSED, **texts)
        total = self.order.total
        Payment.objects.create(order=self.order, key="paid", state=PaymentState.SUCCEEDED, amount=total)
        refund_order(self.order.pk, self.other, amount=1, reason=f"For {NAME}")
        refund_order(self.order.pk, self.other, amount=1)

    def _report(self) -> None:
        for target, reporter in ((self.quill, self.other), (self.other, self.quill)):
            found = find_target(Kind.READER, str(target.pk), None)
            assert found is not None
            report_target(found, Reporter(reporter.pk), Reason.SPAM, f"Says {NAME}")
        staff = User.objects.create_superuser("staff")
        ruling = Ruling(Action.WARN, facts=f"Writes about {NAME}")
        decision = decide_case(Case.objects.get(author=self.quill).pk, ruling, by=staff)
        appeal_decision(decision, f"No, says {NAME}")


@pytest.fixture
def life(quill: User) -> Life:
    return Life(quill)


def ask(client: Client, password: str = PASSWORD) -> Any:
    return client.post(PATH, {"password": password})


def finish(clock: Clock, days: float = 15) -> None:
    """End the grace period, and run everything that follows a deletion within days."""
    clock.ahead = timedelta(days=days)
    delete_accounts()
    clock.ahead += timedelta(days=3)
    drain_all()
    sync()
    drain_all()


def in_sql() -> Iterator[str]:
    """Yield every row of every table except the outbox, which keeps ids for ten minutes for a replay."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table != Change._meta.db_table:
                cursor.execute(f'SELECT * FROM "{table}"')
                yield from (f"SQL {table}: {row!r}" for row in cursor.fetchall())


def in_redis(redis: Redis) -> Iterator[str]:
    """Yield every key with its value, of all types that the site uses, except keys that expire soon.

    Rate limits use digests, and expire. So do fences and claims on a cluster, after a minute.
    """
    read = {
        "string": lambda key: redis.get(key),
        "hash": lambda key: redis.hgetall(key),
        "set": lambda key: redis.smembers(key),
        "zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        "list": lambda key: redis.lrange(key, 0, -1),
        "stream": lambda key: redis.xrange(key),
    }
    for key in redis.scan_iter(count=1000):
        is_fence = has_cluster() and re.search(rb"mirror:\{\w+\}:(fence|claims):", key) and 0 < redis.ttl(key) <= 60
        if b":once:" not in key and not is_fence:  # the former expire after half an hour
            yield f"Redis {key!r}: {read[redis.type(key).decode()](key)!r}"


def in_files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        raw = path.read_bytes()
        yield f"file {path.name}: {(gzip.decompress(raw) if path.suffix == '.gz' else raw).decode()}"


def remains(life: Life, redis: Redis, folder: Path) -> list[str]:
    places = [*in_sql(), *in_redis(redis), *in_files(folder)]
    return [place[:300] for place in places if any(secret in place for secret in life.secrets)]


def test_no_personal_data_of_a_deleted_user_remains(life: Life, redis: Redis, folder: Path, clock: Clock) -> None:
    found = " ".join(place.split(":")[0] for place in remains(life, redis, folder))
    parts = ("accounts_user", "social_post", "shop_order", "shop_view", "shop_cart", "django_admin_log")
    for part in (*parts, "moderation_case", "moderation_report"):
        assert f"SQL {part}" in found
    assert "Redis" in found
    assert "file" in found
    assert ask(life.client).status_code == 302
    finish(clock)
    assert remains(life, redis, folder) == []
    assert verify() == []
    assert User.objects.filter(pk=life.other.pk).exists()
    assert Post.objects.count() == 2


def test_orders_are_kept_without_personal_data(life: Life, clock: Clock) -> None:
    ask(life.client)
    finish(clock)
    order = Order.objects.get(pk=life.order.pk)
    assert (order.user_id, order.name, order.email, order.address) == (None, "", "", "")
    assert (order.total, order.lines.count()) == (life.order.total, 1)
    # What staff typed may name the buyer. The site's own reasons stay.
    assert list(Refund.objects.order_by("pk").values_list("reason", flat=True)) == ["", REFUNDED_BY_STAFF]


def test_an_unsent_order_delays_the_end_of_the_deletion(life: Life, clock: Clock) -> None:
    Order.objects.update(state=OrderState.PAID)
    ask(life.client)
    finish(clock)
    assert Order.objects.get().address == "1 Feather Lane"
    assert not Post.objects.filter(user=life.quill).exists()
    Order.objects.update(state=OrderState.SENT)
    finish(clock, days=20)
    assert Order.objects.get().address == ""
    assert not User.objects.filter(pk=USER_ID).exists()


def test_a_deletion_killed_at_any_query_is_completed_later(
    life: Life, redis: Redis, folder: Path, clock: Clock
) -> None:
    ask(life.client)
    clock.ahead = timedelta(days=15)
    kills, allowed = 0, 0
    while True:
        left = allowed = allowed + 3

        def die(execute: Any, *args: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return execute(*args)

        try:
            with connection.execute_wrapper(die):
                delete_accounts()
            break
        except Killed:
            kills += 1
    assert kills > 5
    finish(clock)
    assert remains(life, redis, folder) == []


def test_a_run_without_budget_deletes_one_slice(life: Life, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.personal.registry.SLICE_SIZE", 2)
    ask(life.client)
    clock.ahead = timedelta(days=15)
    notifications = Notification.objects.filter(user=USER_ID)  # which are deleted first
    before = notifications.count()
    assert before > 2
    assert deletion.delete_due_accounts(0) == 0
    assert notifications.count() == before - 2
    assert User.objects.filter(pk=USER_ID).exists()
    assert [deletion.delete_due_accounts(0) for _ in range(8)].count(1) == 1
    assert not User.objects.filter(pk=USER_ID).exists()


def test_the_deletion_waits_while_the_login_log_expires(life: Life, clock: Clock) -> None:
    ask(life.client)
    clock.ahead = timedelta(days=15)
    with lease(relay_client(), "loginlog:expire", 60):
        assert delete_accounts() == 0
    assert delete_accounts() == 1


def test_a_failed_deletion_does_not_stop_others(life: Life, folder: Path, clock: Clock) -> None:
    ask(log_in(life.other))
    ask(life.client)
    (path,) = folder.glob("*.log.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    clock.ahead = timedelta(days=15)
    assert delete_accounts() == 1
    assert list(User.objects.filter(pk__in=[USER_ID, life.other.pk])) == [life.quill]
    path.write_bytes(whole)
    assert delete_accounts() == 1


def test_the_user_is_hidden_and_logged_out_at_once(quill: User, clock: Clock) -> None:
    other = User.objects.create_user("other", password=PASSWORD)
    reader, here, elsewhere = log_in(other), log_in(quill), log_in(quill)
    written = create_post(quill.pk, "Good morning")
    assert reader.get(f"/posts/{written.pk}/").status_code == 200
    deliver_emails()  # discard emails about new devices
    response = ask(here)
    assert response.headers["Location"] == "/accounts/login/"
    assert "Your account will be deleted on" in here.get("/accounts/login/").content.decode()
    for client in (here, elsewhere):
        assert client.get("/accounts/").headers["Location"].startswith("/accounts/login/")
    for path in (f"/posts/{written.pk}/", f"/u/{NAME}/"):
        assert reader.get(path).status_code == 404
    (letter,) = deliver_emails()
    assert (letter.to, letter.subject) == ([EMAIL], "Your Diptych account will be deleted")
    assert "will be deleted in 14 days" in str(letter.body)


@pytest.mark.only_on("sqlite")
def test_the_grace_period_keeps_data_and_name(life: Life, clock: Clock) -> None:
    ask(life.client)
    clock.ahead = timedelta(days=13.9)
    assert delete_accounts() == 0
    assert Post.objects.filter(user=USER_ID).count() == 3
    given = {"username": NAME.upper(), "password1": "a louder bookshop", "password2": "a louder bookshop"}
    assert Client().post("/accounts/register/", given).status_code == 200
    clock.ahead = timedelta(days=14.1)
    assert delete_accounts() == 1
    assert Client().post("/accounts/register/", given).status_code == 302


def offer(password: str = PASSWORD) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/accounts/login/", {"username": NAME, "password": password})


def keep(client: Client, response: Any) -> Any:
    return client.post("/accounts/keep/", {"token": response.context["token"]})


def test_a_login_offers_to_keep_the_account(life: Life, clock: Clock) -> None:
    ask(life.client)
    client, response = offer()
    assert "Keep your account?" in response.content.decode()
    assert client.get("/accounts/").status_code == 302  # not logged in yet
    assert keep(client, response).headers["Location"] == "/accounts/"
    assert "Your account is kept." in client.get("/accounts/").content.decode()
    assert not AccountDeletion.objects.exists()
    finish(clock)
    assert Post.objects.filter(user=USER_ID).count() == 3
    assert LoginStats.objects.get(user=USER_ID).login_times == 2
    assert View.objects.filter(user=USER_ID).exists()


@pytest.mark.only_on("sqlite")
def test_an_offer_is_valid_once_and_until_the_deletion_is_due(quill: User, clock: Clock) -> None:
    ask(log_in(quill))
    client, response = offer()
    clock.ahead = timedelta(days=14.1)
    assert keep(client, response).headers["Location"] == "/accounts/login/"
    assert offer()[1].context["form"].errors
    clock.ahead = timedelta()
    keep(client, response)
    ask(client)
    assert keep(Client(), response).headers["Location"] == "/accounts/login/"
    assert not User.objects.get(pk=USER_ID).is_active


@pytest.mark.only_on("sqlite")
def test_an_offer_ends_with_the_password(quill: User, clock: Clock) -> None:
    ask(log_in(quill))
    client, response = offer()
    quill.refresh_from_db()
    quill.set_password("a noisy bookshop")  # by staff, for an owner whose password was stolen
    quill.save()
    assert keep(client, response).headers["Location"] == "/accounts/login/"
    assert not User.objects.get(pk=USER_ID).is_active


@pytest.mark.only_on("sqlite")
def test_an_account_with_a_second_factor_is_kept_after_the_factor_only(quill: User, clock: Clock) -> None:
    browser, secret = log_in(quill), add_app(quill)
    deletion.request_deletion(quill)
    assert browser.get("/accounts/").status_code == 302
    client, response = offer()
    assert keep(client, response).headers["Location"] == "/accounts/login/factor/"
    quill.refresh_from_db()
    assert not quill.is_active
    assert AccountDeletion.objects.filter(user=quill).exists()
    client.post("/accounts/login/factor/", {"code": "000000"})
    assert not User.objects.get(pk=quill.pk).is_active
    client.post("/accounts/login/factor/", {"code": present_code(secret)})
    assert User.objects.get(pk=quill.pk).is_active
    assert not AccountDeletion.objects.exists()
    assert client.get("/accounts/").status_code == 200


@pytest.mark.only_on("sqlite")
def test_a_wrong_password_gets_no_offer_and_counts(quill: User, clock: Clock) -> None:
    ask(log_in(quill))
    for _ in range(5):
        _client, response = offer("a wrong password")
        assert "Keep your account?" not in response.content.decode()
    assert offer()[1].status_code == 429


@pytest.mark.only_on("sqlite")
def test_an_account_deactivated_by_staff_gets_no_offer(quill: User, clock: Clock) -> None:
    User.objects.filter(pk=USER_ID).update(is_active=False)
    assert offer()[1].context["form"].errors


@pytest.mark.only_on("sqlite")
def test_an_account_reactivated_by_staff_is_not_deleted(quill: User, clock: Clock) -> None:
    ask(log_in(quill))
    User.objects.filter(pk=USER_ID).update(is_active=True)
    finish(clock)
    User.objects.filter(pk=USER_ID).update(is_active=False)  # for another reason
    finish(clock)
    assert User.objects.filter(pk=USER_ID).exists()


@pytest.mark.only_on("sqlite")
def test_the_password_is_required_and_attempts_are_limited(quill: User, clock: Clock) -> None:
    client = log_in(quill)
    assert client.get(PATH).status_code == 200
    for _ in range(10):
        assert ask(client, "a wrong password").status_code == 200
    assert ask(client).status_code == 429
    assert User.objects.get(pk=USER_ID).is_active
    assert Client().get(PATH).headers["Location"].startswith("/accounts/login/")


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("path", [PATH, "/accounts/keep/", "/accounts/download/"])
def test_forms_of_other_sites_are_refused(quill: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(quill)
    assert client.post(path, {"password": PASSWORD, "token": "x"}).status_code == 403
