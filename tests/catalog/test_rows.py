"""Rows of books on a page, in which no book stands twice."""

from catalog.books.rows import BookRows


def _fill(rows: BookRows, books: list[int], count: int = 4, **given: int) -> list[int]:
    return rows.fill(books, count, lambda book: book, **given)


def test_each_row_leaves_out_books_above_it_and_stays_full() -> None:
    rows = BookRows()
    assert _fill(rows, [1, 2, 3, 4, 5]) == [1, 2, 3, 4]
    assert _fill(rows, [4, 5, 6, 7, 8, 9]) == [5, 6, 7, 8]


def test_rows_that_would_keep_few_books_are_left_out() -> None:
    rows = BookRows()
    assert _fill(rows, [1, 2]) == [1, 2]  # it loses no book
    assert _fill(rows, [2, 3, 4]) == []
    assert _fill(rows, [2, 3, 4], least=1) == [3, 4]
    assert _fill(rows, [3, 5, 6, 7]) == [5, 6, 7]
    assert _fill(rows, []) == []
