"""The row cache: rows of products that are refreshed every few seconds and expire without refreshes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from django.core.management import call_command
from django.db import OperationalError, connections
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError

from mirror.redis import naming
from mirror.redis.clients import relay_client
from shop import keys, tasks
from shop.models import Product, Sale
from shop.rowcache import daemon, plan, rows
from shop.rowcache.daemon import RowCacheDaemon, run_once
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until
from tests.support.shop.make import make_product, make_sale

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def patient(settings: Settings) -> None:
    """Settings with which neither rows nor claims expire during a test."""
    settings.SHOP_SALE_ROW_SECONDS, settings.SHOP_ROW_SECONDS = 50.0, 90.0
    settings.SHOP_ROW_CLAIM_SECONDS = 600


def row(redis: Redis, product: Product) -> dict[str, Any] | None:
    raw: Any = redis.get(keys.cached_row(product.pk))
    return orjson.loads(raw) if raw else None


def make_due(redis: Redis, *products: Product) -> None:
    """Make rows due now."""
    redis.zadd(keys.row_schedule(), {str(product.pk): 1 for product in products}, xx=True)


def known(redis: Redis, product: Product) -> tuple[bool, bool, bool]:
    """Return whether a row is in the schedule, has a delay and is cached."""
    pk = str(product.pk)
    there = redis.zscore(keys.row_schedule(), pk), redis.zscore(keys.row_delays(), pk), redis.get(keys.cached_row(pk))
    return there[0] is not None, there[1] is not None, there[2] is not None


def test_a_scheduled_row_is_cached_and_lives_for_three_delays(redis: Redis) -> None:
    product = make_product("Programming Erlang", price=1250, stock=7)
    rows.schedule_row(product.pk, 50)
    assert run_once() == 1
    said = row(redis, product)
    assert said is not None
    assert (said["id"], said["title"], said["price"], said["now"]) == (product.pk, "Programming Erlang", 1250, 1250)
    assert (said["was"], said["ends"], said["available"], said["delay"]) == (None, None, 7, 50)
    assert 100_000 < redis.pttl(keys.cached_row(product.pk)) <= 150_000
    due = redis.zscore(keys.row_schedule(), str(product.pk))
    assert due == pytest.approx(said["cached_at"] + 50, abs=40)
    assert run_once() == 0


def test_a_due_row_is_refreshed(redis: Redis) -> None:
    product = make_product(stock=7)
    rows.schedule_row(product.pk, 60)
    run_once()
    Product.objects.filter(pk=product.pk).update(stock=6)
    make_due(redis, product)
    assert run_once() == 1
    said = row(redis, product)
    assert said is not None
    assert said["available"] == 6


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_delay_of_zero_stops_and_deletes_the_row(redis: Redis, seconds: float) -> None:
    product = make_product()
    rows.schedule_row(product.pk, 50)
    run_once()
    assert known(redis, product) == (True, True, True)
    rows.schedule_row(product.pk, seconds)
    assert known(redis, product) == (False, False, False)


def test_a_delay_set_to_zero_by_hand_stops_the_row_when_it_is_due(redis: Redis) -> None:
    product = make_product()
    rows.schedule_row(product.pk, 50)
    run_once()
    redis.zadd(keys.row_delays(), {str(product.pk): 0})
    make_due(redis, product)
    run_once()
    assert known(redis, product) == (False, False, False)


def test_rows_without_a_delay_or_product_do_not_block_others(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    plain, odd, gone = make_product(), make_product(), make_product()
    for product in (plain, odd, gone):
        rows.schedule_row(product.pk, 50)
    redis.zrem(keys.row_delays(), str(odd.pk))
    odd_names = ["no number", "9" * 30, "9" * 5000]
    redis.zadd(keys.row_delays(), dict.fromkeys(odd_names, 5))
    redis.zadd(keys.row_schedule(), dict.fromkeys(odd_names, 1))
    Product.objects.filter(pk=gone.pk).delete()
    run_once()
    assert known(redis, plain) == (True, True, True)
    assert known(redis, odd) == known(redis, gone) == (False, False, False)
    assert (redis.zcard(keys.row_schedule()), redis.zcard(keys.row_delays())) == (1, 1)
    assert "they have no delay" in caplog.text
    assert "there are no such products" in caplog.text


def test_a_due_row_is_claimed_once(redis: Redis) -> None:
    products = [make_product() for _ in range(30)]
    rows.schedule_rows({product.pk: 60 for product in products})

    def one(_: int) -> list[str]:
        try:
            return rows.cache_due_rows().ids
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        claimed = [pk for ids in pool.map(one, range(8)) for pk in ids]
    assert sorted(claimed) == sorted(str(product.pk) for product in products)
    assert all(known(redis, product) == (True, True, True) for product in products)


def test_a_worker_killed_after_its_claim_only_delays_the_row(redis: Redis) -> None:
    product = make_product()
    rows.schedule_row(product.pk, 50)
    assert rows._claim_due_rows(relay_client()).ids == [str(product.pk)]  # killed at this point
    assert run_once() == 0
    make_due(redis, product)  # the claim has expired
    assert run_once() == 1
    assert known(redis, product) == (True, True, True)


def test_a_row_stopped_during_its_claim_stays_stopped(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    product, load = make_product(), rows.load_rows
    rows.schedule_row(product.pk, 50)

    def stop_meanwhile(ids: list[int], moment: float) -> Any:
        rows.schedule_row(product.pk, 0)
        return load(ids, moment)

    monkeypatch.setattr(rows, "load_rows", stop_meanwhile)
    assert run_once() == 1
    assert known(redis, product) == (False, False, False)


def test_a_row_rescheduled_during_its_claim_is_due_at_once(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    product, load = make_product(), rows.load_rows
    rows.schedule_row(product.pk, 60)

    def hurry(ids: list[int], moment: float) -> Any:
        monkeypatch.setattr(rows, "load_rows", load)
        rows.schedule_row(product.pk, 2)
        return load(ids, moment)

    monkeypatch.setattr(rows, "load_rows", hurry)
    rows.cache_due_rows()
    assert rows.cache_due_rows().ids == [str(product.pk)]
    said = row(redis, product)
    assert said is not None
    assert said["delay"] == 2


def test_any_number_of_rows_takes_six_queries() -> None:
    products = [make_product() for _ in range(20)]
    rows.schedule_rows({product.pk: 5 for product in products})
    with CaptureQueriesContext(connections["default"]) as queries:
        assert len(rows.cache_due_rows().ids) == 20
    assert len(queries) <= 6


def test_products_on_sale_are_cached_until_the_sale_ends(redis: Redis) -> None:
    now, later, never = make_product(price=1250), make_product(), make_product()
    sale = make_sale(now, price=900)
    make_sale(later, starts_in=1, hours=2)
    assert run_once() == 2
    assert [redis.zscore(keys.row_delays(), str(product.pk)) for product in (now, later, never)] == [50, 90, None]
    said = row(redis, now)
    assert said is not None
    assert (said["now"], said["was"], said["ends"]) == (900, 1250, sale.ends_at.timestamp())
    Sale.objects.filter(pk=sale.pk).update(ends_at=sale.starts_at.replace(year=2000), starts_at="1999-01-01T00:00Z")
    assert plan.plan_sale_rows(relay_client()) == 1
    assert known(redis, now) == (False, False, False)
    assert known(redis, later)[0]
    assert plan.plan_sale_rows(relay_client()) == 0


def test_the_start_of_a_sale_shortens_the_delay(redis: Redis) -> None:
    product = make_product()
    sale = make_sale(product, starts_in=1, hours=2)
    run_once()
    Sale.objects.filter(pk=sale.pk).update(starts_at="2000-01-01T00:00Z")
    assert run_once() == 1
    assert redis.zscore(keys.row_delays(), str(product.pk)) == 50


def test_a_manual_delay_stays_until_the_sale_changes(redis: Redis) -> None:
    product = make_product()
    sale = make_sale(product)
    run_once()
    rows.schedule_row(product.pk, 0)
    run_once()
    assert known(redis, product) == (False, False, False)
    sale.items.all().delete()
    run_once()
    sale.items.create(product=product, price=700)
    run_once()
    assert known(redis, product) == (True, True, True)


def test_rows_are_restored_after_redis_was_emptied(redis: Redis) -> None:
    product = make_product()
    make_sale(product)
    run_once()
    redis.flushdb()
    assert run_once() == 1
    assert known(redis, product) == (True, True, True)


def test_a_run_ends_even_if_rows_become_due_during_it(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    products, rounds, load = [make_product() for _ in range(4)], list[int](), rows.load_rows
    rows.schedule_rows({product.pk: 50 for product in products})
    for module in (daemon, rows):
        monkeypatch.setattr(module, "ROWS_PER_CLAIM", 2)

    def all_due_again(ids: list[int], moment: float) -> Any:
        rounds.append(len(ids))
        assert len(rounds) <= 10, "it goes on for ever"
        rows.schedule_rows({product.pk: 50 for product in products})
        return load(ids, moment)

    monkeypatch.setattr(rows, "load_rows", all_due_again)
    assert run_once(look=False) == 4
    assert all(known(redis, product)[:2] == (True, True) for product in products)


def test_beat_plans_at_intervals_and_caches_due_rows(redis: Redis, settings: Settings) -> None:
    settings.SHOP_PLAN_SECONDS = 600.0
    first, second = make_product(), make_product()
    make_sale(first)
    assert tasks.cache_rows() == 1
    make_sale(second)
    rows.schedule_row(first.pk, 50)
    assert tasks.cache_rows() == 1  # planned a moment ago
    redis.delete(naming.lease("rowplan"))
    assert tasks.cache_rows() == 1
    assert known(redis, second) == (True, True, True)


def test_beats_task_does_nothing_while_redis_is_away(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert tasks.cache_rows() == 0
    assert tasks.rescale_views() == 0


def test_no_error_ends_the_daemon(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    daemon = RowCacheDaemon(retry_seconds=0.0)
    failures = iter([ValueError("odd"), OperationalError("SQL is away"), ConnectionError("gone")])

    def step() -> None:
        error = next(failures, None)
        if error is None:
            return daemon.stop()
        raise error

    monkeypatch.setattr(daemon, "step", step)
    daemon.run()
    assert [record.getMessage() for record in caplog.records if record.name == "shop"] == [
        "Rows were not cached: odd",
        "Rows wait: SQL is away",
        "Rows wait no more (after 2 failures)",
        "Rows are cached again (after 1 failures)",
    ]


def test_the_daemon_goes_on_until_it_is_stopped(redis: Redis) -> None:
    product, daemon = make_product(), RowCacheDaemon()
    rows.schedule_row(product.pk, 0.2)

    def run() -> None:
        daemon.run()
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run)
        wait_until(lambda: daemon.rows >= 3, "three times the same row")
        daemon.stop()
        done.result(PATIENCE_SECONDS)


def test_the_commands_report_their_results(redis: Redis, capsys: pytest.CaptureFixture[str]) -> None:
    product = make_product()
    call_command("rowcache", "schedule", str(product.pk), "5")
    assert capsys.readouterr().out == f"row {product.pk}: every 5 seconds\n"
    call_command("rowcache", "run", "--once")
    assert capsys.readouterr().out == "1 row cached\n"
    call_command("rowcache", "schedule", str(product.pk), "0", "--json")
    assert '"seconds": 0.0' in capsys.readouterr().out
    assert known(redis, product) == (False, False, False)


def test_an_unknown_product_is_refused_but_can_be_unscheduled(redis: Redis, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        call_command("rowcache", "schedule", "987654", "5")
    assert tuple(capsys.readouterr()) == ("", "there is no product with the id 987654\n")
    assert not redis.exists(keys.row_schedule(), keys.row_delays())
    rows.schedule_row(987654, 5)
    call_command("rowcache", "run", "--once")
    assert redis.zcard(keys.row_schedule()) == 0
    call_command("rowcache", "schedule", "987654", "0")
