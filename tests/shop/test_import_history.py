"""``import_goodbooks``: products, readers, views and purchases, from files with every kind of bad row."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import User
from catalog.models import Book, ShelfEntry
from mirror.models import Change
from shop.importer import history, synthetic
from shop.importer.bulk import insert_rows
from shop.importer.synthetic import HISTORY_END
from shop.models import Order, OrderLine, OrderState, Product, View
from tests.support.catalog.goodbooks import books_csv, write

pytestmark = pytest.mark.django_db(transaction=True)
Capture = pytest.CaptureFixture[str]
BOOKS = books_csv(
    {},
    {"book_id": "2", "goodreads_book_id": "1"},  # equals the number of another book
    {"book_id": "7", "goodreads_book_id": "2", "title": "Seven"},
)


def pairs(*rows: tuple[object, object], last: str = "") -> str:
    """Return a file of (user, book), with a further column as in ratings.csv."""
    return "\n".join(["user_id,book_id,rating", *(f"{user},{book},5" for user, book in rows), last])


def load(folder: Path, capsys: Capture, *arguments: str) -> dict[str, Any]:
    call_command("import_goodbooks", str(folder), "--json", *arguments)
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def files(folder: Path, to_read: str | None = None, ratings: str | None = None) -> Path:
    write(folder, BOOKS)
    for name, text in (("to_read.csv", to_read), ("ratings.csv", ratings)):
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def _all() -> tuple[object, ...]:
    """Return all rows that an import writes."""
    return (
        list(Product.objects.order_by("pk").values_list()),
        list(User.objects.order_by("pk").values_list()),
        list(View.objects.order_by("pk").values_list()),
        list(Order.objects.order_by("pk").values_list()),
        list(OrderLine.objects.order_by("pk").values_list()),
        list(ShelfEntry.objects.order_by("pk").values_list()),
        Change.objects.count(),
    )


def test_wanted_books_become_views_and_rated_books_become_purchases(tmp_path: Path, capsys: Capture) -> None:
    files(tmp_path, pairs((17, 1), (17, 7), (18, 7)), pairs((17, 7), (19, 2)))
    report = load(tmp_path, capsys)
    history_of = {kind: report["added"][kind] for kind in ("products", "readers", "views", "purchases")}
    assert history_of == {"products": 3, "readers": 3, "views": 3, "purchases": 2}
    reader = User.objects.get(username="goodbooks reader 17")
    assert not reader.has_usable_password()
    assert set(View.objects.values_list("user__username", "book__title")) == {
        ("goodbooks reader 17", "A Title"), ("goodbooks reader 17", "Seven"), ("goodbooks reader 18", "Seven"),
    }  # fmt: skip
    order = Order.objects.get(user=reader)
    line = order.lines.get()
    assert (line.product_id, line.title, line.quantity) == (7, "Seven", 1)
    assert (order.state, order.total) == (OrderState.SENT, line.price)
    assert order.confirmed_at is not None  # no email is sent
    assert Order.objects.get(user__username="goodbooks reader 19").lines.get().product_id == 2
    assert order.created_at > View.objects.get(user=reader, book_id=7).seen_at
    product = Product.objects.get(pk=7)
    assert (product.price, product.stock, product.reserved) == (synthetic.invent_price(7), synthetic.invent_stock(7), 0)


def test_a_second_import_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    files(tmp_path, pairs((17, 1), (18, 7)), pairs((17, 7), (19, 2), (17, 1)))
    load(tmp_path, capsys)
    Product.objects.filter(pk=7).update(price=1, stock=2)
    Order.objects.filter(user__username="goodbooks reader 19").update(state=OrderState.CANCELLED)
    before = _all()
    assert set(load(tmp_path, capsys)["added"].values()) == {0}
    assert _all() == before


def test_an_interrupted_import_is_continued(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, book) for user in range(1, 400) for book in (1, 2, 7)]
    files(tmp_path, pairs(*rows), pairs(*rows))
    calls = Counter[str]()

    def stopped(model: Any, columns: Any, values: Any) -> int:
        calls[model.__name__] += 1
        if calls["OrderLine"] == 2:
            raise KeyboardInterrupt
        return insert_rows(model, columns, values)

    monkeypatch.setattr(history, "ROWS_PER_TRANSACTION", 500)
    monkeypatch.setattr(history, "insert_rows", stopped)
    with pytest.raises(SystemExit):
        load(tmp_path, capsys)
    assert View.objects.count() == len(rows)
    assert 0 < Order.objects.count() == OrderLine.objects.count() < len(rows)
    monkeypatch.setattr(history, "insert_rows", insert_rows)
    capsys.readouterr()
    assert load(tmp_path, capsys)["added"]["views"] == 0
    assert Order.objects.count() == OrderLine.objects.count() == len(rows)
    assert set(Counter(Order.objects.values_list("user")).values()) == {3}


def test_both_are_shelved_and_a_rating_takes_precedence(tmp_path: Path, capsys: Capture) -> None:
    files(tmp_path, pairs((17, 1), (17, 7), (18, 7)), "user_id,book_id,rating\n17,7,5\n19,2,1\n19,7,9\n")
    report = load(tmp_path, capsys)
    assert (report["added"]["shelved"], report["dirt"]["ratings without usable stars"]["count"]) == (5, 1)
    found = ShelfEntry.objects.values_list("user__username", "book_id", "shelf", "stars")
    assert {(name.rpartition(" ")[2], *rest) for name, *rest in found} == {
        ("17", 1, "want-to-read", None), ("17", 7, "read", 10), ("18", 7, "want-to-read", None),
        ("19", 2, "read", 2), ("19", 7, "read", None),
    }  # fmt: skip
    entry = ShelfEntry.objects.get(user__username="goodbooks reader 17", book_id=7)
    assert entry.started_on
    assert entry.finished_on
    assert entry.started_on == Order.objects.get(user=entry.user).created_at.date()
    assert entry.shelved_on <= entry.started_on < entry.finished_on == entry.sort_on


def test_a_partly_filled_shelf_is_completed_and_keeps_its_entries(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(user, book) for user in range(1, 400) for book in (1, 2, 7)]
    files(tmp_path, pairs(*rows), pairs(*rows[::2]))
    calls = Counter[str]()

    def stopped(model: Any, columns: Any, values: Any) -> int:
        calls[model.__name__] += 1
        if calls["ShelfEntry"] == 2:
            raise KeyboardInterrupt
        return insert_rows(model, columns, values)

    monkeypatch.setattr(history, "ROWS_PER_TRANSACTION", 500)
    monkeypatch.setattr(history, "insert_rows", stopped)
    with pytest.raises(SystemExit):
        load(tmp_path, capsys)
    capsys.readouterr()
    begun = ShelfEntry.objects.count()
    assert 0 < begun < len(rows)
    ShelfEntry.objects.filter(pk=ShelfEntry.objects.earliest("pk").pk).update(stars=2)
    monkeypatch.setattr(history, "insert_rows", insert_rows)
    assert load(tmp_path, capsys)["added"]["shelved"] == len(rows) - begun
    assert ShelfEntry.objects.filter(stars=2).count() == 1
    assert ShelfEntry.objects.exclude(stars=None).count() == len(rows[::2])


def test_bad_rows_are_counted_and_skipped(tmp_path: Path, capsys: Capture) -> None:
    bad = [("x", 1), (17, ""), (0, 1), (-1, 1), (9**25, 1), (17, 3), (17, 101), (17, 1), (17, 1), (18, "1.0")]
    files(tmp_path, pairs(*bad, last="5"), pairs(*bad))
    report = load(tmp_path, capsys)
    assert (report["added"]["views"], report["added"]["purchases"]) == (2, 2)
    counts = {kind: found["count"] for kind, found in report["dirt"].items() if kind.startswith(("views", "rows"))}
    assert counts == {
        "views without usable numbers": 5,
        "views of unknown books": 2,  # 101 is a goodreads number
        "views listed twice": 1,
        "rows with too few or too many columns": 1,
    }


def test_a_missing_file_is_reported(tmp_path: Path, capsys: Capture) -> None:
    report = load(files(tmp_path, ratings=pairs((17, 7))), capsys)
    assert (report["missing"], report["added"]["purchases"], report["added"]["views"]) == (["to_read.csv"], 1, 0)
    call_command("import_goodbooks", str(tmp_path))
    assert "to_read.csv is missing and was skipped" in capsys.readouterr().out
    (tmp_path / "ratings.csv").unlink()
    assert load(tmp_path, capsys)["missing"] == ["to_read.csv", "ratings.csv"]


def test_a_bad_file_stops_it_before_anything_is_written(tmp_path: Path, capsys: Capture) -> None:
    files(tmp_path, ratings="user,book\n1,1\n")
    with pytest.raises(SystemExit) as stop:
        call_command("import_goodbooks", str(tmp_path))
    assert stop.value.code == 2
    assert 'ratings.csv, line 1: the column "user_id" is missing' in capsys.readouterr().err
    assert not Book.objects.exists()


def test_a_limit_of_books_also_limits_the_history(tmp_path: Path, capsys: Capture) -> None:
    files(tmp_path, pairs((17, 1), (18, 7)), pairs((17, 1), (19, 7)))
    added = load(tmp_path, capsys, "--limit", "1")["added"]
    assert {kind: added[kind] for kind in ("books", "products", "readers", "views", "purchases")} == {
        "books": 1, "products": 1, "readers": 1, "views": 1, "purchases": 1,
    }  # fmt: skip
    added = load(tmp_path, capsys)["added"]
    assert (added["books"], added["readers"], added["views"], added["purchases"]) == (2, 2, 1, 1)


def test_books_only_imports_no_history(tmp_path: Path, capsys: Capture) -> None:
    report = load(files(tmp_path, pairs((17, 1)), pairs((17, 1))), capsys, "--books-only")
    assert report["added"] == {"books": 3, "authors": 1, "tags": 0, "taggings": 0}
    assert not Product.objects.exists()
    assert not User.objects.exists()


def test_a_book_with_a_taken_number_is_still_found(tmp_path: Path, capsys: Capture) -> None:
    Book.objects.create(pk=7, title="Was here before")
    load(files(tmp_path, pairs((17, 7)), pairs((17, 7))), capsys)
    seven = Book.objects.get(goodreads_id=2)
    assert seven.pk != 7
    assert View.objects.get().book_id == OrderLine.objects.get().product_id == seven.pk
    assert not Product.objects.filter(pk=7).exists()


def test_made_up_times_are_equal_in_every_run() -> None:
    every = [(user, book) for user in range(1, 400) for book in range(1, 12)]
    looks, buys = (
        {pair: at(*pair) for pair in every} for at in (synthetic.invent_view_time, synthetic.invent_purchase_time)
    )
    assert looks == {pair: synthetic.invent_view_time(*pair) for pair in reversed(every)}
    waits = [buys[pair] - looks[pair] for pair in every]
    assert min(waits) > timedelta(0)
    soon = sum(wait <= timedelta(days=7) for wait in waits) / len(waits)
    assert 0.6 < soon < 0.8
    assert max(buys.values()) < HISTORY_END
    months = Counter((at.year, at.month) for at in buys.values())
    assert len(months) >= 12
    assert max(months.values()) < len(every) / 6
    assert f"{synthetic.invent_view_time(17, 7):%c} {synthetic.invent_purchase_time(17, 7):%c}" == (
        "Tue Feb 24 04:24:37 2026 Sat Mar 14 00:42:54 2026"
    )
    assert {synthetic.invent_price(book) % 50 for book in range(1, 200)} == {49}
    assert 0 < sum(synthetic.invent_stock(book) == 0 for book in range(1, 600)) < 60
