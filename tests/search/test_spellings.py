"""Other spellings of a title: its original, numbers in words, other Chinese characters, other kana, an ISBN."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from catalog.models import Book
from tests.support.catalog.goodbooks import books_csv, links_csv, tags_csv, write
from tests.support.catalog.make import make_book
from tests.support.search.queries import find_titles, search_both_ways, warm_search

pytestmark = pytest.mark.django_db(transaction=True)

ORIGINALS = {
    "The Reader": "Der Vorleser",
    "Norwegian Wood": "ノルウェイの森",
    "The Stranger": "L’Étranger",
    "War and Peace": "Война и мир",
    "The Little Prince": "Le Petit Prince",
    "The Three-Body Problem": "三体",
    "The Yacoubian Building": "عمارة يعقوبيان",
    "The Girl with the Dragon Tattoo (Millennium, #1)": "Män som hatar kvinnor",
}


BY_ORIGINAL = [
    ("Der Vorleser", "The Reader"),
    ("vorleser", "The Reader"),
    ("ノルウェイの森", "Norwegian Wood"),
    ("のるうぇいの森", "Norwegian Wood"),
    ("l'etranger", "The Stranger"),
    ("Étranger", "The Stranger"),
    ("война и мир", "War and Peace"),
    ("le petit prince", "The Little Prince"),
    ("三體", "The Three-Body Problem"),
    ("عمارة يعقوبيان", "The Yacoubian Building"),
    ("man som hatar kvinnor", "The Girl with the Dragon Tattoo (Millennium, #1)"),
    ("Män som hattar kvinnor", "The Girl with the Dragon Tattoo (Millennium, #1)"),
    ("the reader", "The Reader"),
]


def test_a_book_is_found_by_its_original_title() -> None:
    for name, original in ORIGINALS.items():
        make_book(name, original_title=original)
    make_book("The Readers of Broken Wheel", popularity=900)
    warm_search()
    for query, title in BY_ORIGINAL:
        assert find_titles(query)[:1] == [title]


CHINESE = ["紅樓夢", "动物农场", "三国演义", "圍城", "射鵰英雄傳", "万历十五年", "臺北人", "乾隆皇帝"]
KANA = ["ノルウェイの森", "ハリー・ポッターと賢者の石", "こころ", "キッチン", "ざりがに", "ｺﾝﾋﾞﾆ人間"]


IN_OTHER_SCRIPTS = [
    ("红楼梦", "紅樓夢"),
    ("紅樓夢", "紅樓夢"),
    ("動物農場", "动物农场"),
    ("三國演義", "三国演义"),
    ("围城", "圍城"),
    ("英雄传", "射鵰英雄傳"),
    ("萬曆十五年", "万历十五年"),
    ("台北人", "臺北人"),
    ("乾隆", "乾隆皇帝"),
    ("のるうぇいのもり", "ノルウェイの森"),
    ("はりーぽったー", "ハリー・ポッターと賢者の石"),
    ("ココロ", "こころ"),
    ("きっちん", "キッチン"),
    ("ザリガニ", "ざりがに"),
    ("コンビニ人間", "ｺﾝﾋﾞﾆ人間"),
    ("こんびに", "ｺﾝﾋﾞﾆ人間"),
]


def test_both_chinese_scripts_and_both_kana_find_one_another() -> None:
    for name in (*CHINESE, *KANA):
        make_book(name)
    warm_search()
    for query, title in IN_OTHER_SCRIPTS:
        assert find_titles(query)[:1] == [title]


NUMBERS = [
    ("Slaughterhouse-Five", 5),
    ("Slaughterhouse", 900),
    ("Slaughter", 800),
    ("1984", 7),
    ("One Hundred Years of Solitude", 8),
    ("Catch-22 (Catch-22, #1)", 9),
    ("A Thousand Splendid Suns", 6),
    ("Twelfth Night", 3),
    ("The 13th Tale", 4),
    ("Twenty Thousand Leagues Under the Sea", 2),
    ("The 5 Love Languages: The Secret to Love That Lasts", 1),
    ("The Hunger Games (The Hunger Games, #1)", 999),
    ("One Day", 50),
]


BY_NUMBER = [
    ("Slaughterhouse 5", "Slaughterhouse-Five"),
    ("slaughterhouse five", "Slaughterhouse-Five"),
    ("nineteen eighty-four", "1984"),
    ("100 years of solitude", "One Hundred Years of Solitude"),
    ("catch twenty two", "Catch-22 (Catch-22, #1)"),
    ("Catch-Twenty-Two", "Catch-22 (Catch-22, #1)"),
    ("1000 splendid suns", "A Thousand Splendid Suns"),
    ("12th night", "Twelfth Night"),
    ("the thirteenth tale", "The 13th Tale"),
    ("20,000 leagues under the sea", "Twenty Thousand Leagues Under the Sea"),
    ("the five love languages", "The 5 Love Languages: The Secret to Love That Lasts"),
    ("1 day", "One Day"),
]


def test_a_number_is_found_in_digits_and_in_words() -> None:
    for name, popularity in NUMBERS:
        make_book(name, popularity=popularity)
    warm_search()
    for query, title in BY_NUMBER:
        assert find_titles(query)[:1] == [title]


def test_the_number_of_a_volume_is_not_respelled() -> None:
    for name, popularity in NUMBERS:
        make_book(name, popularity=popularity)
    warm_search()
    assert "The Hunger Games (The Hunger Games, #1)" not in find_titles("one")


SPELLED_ISBNS = ["978‑0‑439‑65548‑4", "978–0–439–65548–4", "978 0 439 65548 4", "0-439-65548-X"]


def test_an_isbn_in_any_spelling_finds_its_book_only() -> None:
    make_book("Potter", isbn="043965548X")
    for n in range(3):
        make_book(f"978 days, part {n} of 439", popularity=900)
    warm_search()
    for query in SPELLED_ISBNS:
        assert find_titles(query) == ["Potter"]


WRONG_ISBNS = ["978‑0‑439‑65548‑5", "9780439655485", "0-439-65548-3"]


def test_a_wrong_check_digit_is_said_and_finds_no_other_books(client: Client) -> None:
    make_book("Potter", isbn="043965548X")
    make_book("978 days, part 0 of 439", popularity=900)
    warm_search()
    for query in WRONG_ISBNS:
        assert search_both_ways(query).is_empty
        assert "The check digit of this ISBN is wrong." in client.get("/search/", {"q": query}).content.decode()


def test_imported_original_titles_are_found_unless_they_are_the_title(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ("The Reader", "Der Vorleser", "Der Vorleser"),
        ("The Hunger Games (The Hunger Games, #1)", "The Hunger Games", ""),
        ("Emma", "Emma", ""),
        ("Salt", "", ""),
        ("", "ノルウェイの森", ""),
    ]
    numbered = enumerate(rows, 1)
    books = [
        {"book_id": str(n), "goodreads_book_id": f"10{n}", "title": title, "original_title": original}
        for n, (title, original, _) in numbered
    ]
    write(tmp_path, books_csv(*books), tags_csv(), links_csv())
    call_command("import_goodbooks", str(tmp_path), "--books-only", "--json")
    assert json.loads(capsys.readouterr().out)["added"]["books"] == len(rows)
    assert list(Book.objects.order_by("pk").values_list("original_title", flat=True)) == [kept for *_, kept in rows]
    warm_search()
    assert find_titles("der vorleser") == ["The Reader"]


def test_a_page_shows_the_original_title(client: Client) -> None:
    book = make_book("Norwegian Wood", original_title="ノルウェイの森")
    html = client.get(f"/books/{book.pk}/").content.decode()
    assert '<dd dir="auto">ノルウェイの森</dd>' in html
    assert '"alternateName":"ノルウェイの森"' in html
    assert "Original title" not in client.get(f"/books/{make_book('Emma').pk}/").content.decode()
