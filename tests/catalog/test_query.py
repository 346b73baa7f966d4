"""The query language: parsing, errors with their places, and the meaning of queries."""

import operator
from collections.abc import Callable
from functools import reduce

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from catalog.names import normalise
from catalog.query import (
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_TERMS,
    And,
    Node,
    Not,
    Or,
    QueryError,
    Tag,
    add_term,
    evaluate,
    find_positive_terms,
    find_terms,
    format_query,
    get_canonical_text,
    parse,
    remove_term,
)
from tests.support.catalog.queries import NAMES, nodes

A, B, C = Tag("a"), Tag("b"), Tag("c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("", None),
        (" \t\n\u3000", None),
        ("a", A),
        ("a & b", And((A, B))),
        ("a&b&c", And((A, B, C))),
        ("a b", And((A, B))),
        ("a (b | c)", And((A, Or((B, C))))),
        ("a | b & c", Or((A, And((B, C))))),
        ("(a | b) & c", And((Or((A, B)), C))),
        ("a - b", And((A, Not(B)))),
        ("a -b", And((A, Not(B)))),
        ("a- b", And((A, Not(B)))),
        ("a - b - c", And((A, Not(B), Not(C)))),
        ("a - (b - c)", And((A, Not(And((B, Not(C))))))),
        ("a & - b", And((A, Not(B)))),
        ("-a", Not(A)),
        ("- - a", Not(Not(A))),
        ("a | -b", Or((A, Not(B)))),
        ("young-adult", Tag("young-adult")),
        ("to--read", Tag("to--read")),
        ("young-adult-fantasy - sci-fi", And((Tag("young-adult-fantasy"), Not(Tag("sci-fi"))))),
        ("c++ c#", And((Tag("c++"), Tag("c#")))),
        ("Sci-Fi", Tag("sci-fi")),
        ("ＳＦ", Tag("sf")),
        ('"Young   Adult"', Tag("young adult")),
        ('"--1-"', Tag("--1-")),
        ('"a"-"b"', And((A, Not(B)))),
        ('"a\\"b"', Tag('a"b')),
        ('"a""b"', Tag('a"b')),
        ('"\\\\"', Tag("\\")),
        ('"c:\\temp"', Tag("c:\\temp")),
        ("武侠 & 小说", And((Tag("武侠"), Tag("小说")))),
        ("“young-adult” & fantasy", And((Tag("young-adult"), Tag("fantasy")))),
        ("fantasy – romance", And((Tag("fantasy"), Not(Tag("romance"))))),
        ("fantasy — romance", And((Tag("fantasy"), Not(Tag("romance"))))),
        ("fantasy −romance", And((Tag("fantasy"), Not(Tag("romance"))))),
        ("young‑adult", Tag("young-adult")),
        ("„junge Leser“ | «jeunes lecteurs»", Or((Tag("junge leser"), Tag("jeunes lecteurs")))),
        ("»unge« ”läsare”", And((Tag("unge"), Tag("läsare")))),
        ("「武侠」 － 『小说』", And((Tag("武侠"), Not(Tag("小说"))))),
        ("（ａ ｜ ｂ）＆ ＂c d＂", And((Or((A, B)), Tag("c d")))),
        ('“say "hi"”', Tag('say "hi"')),
        ('"“a”"', Tag("“a”")),
        ('"a–b"', Tag("a–b")),
    ],
)
def test_queries_are_parsed(text: str, node: Node | None) -> None:
    assert parse(text) == node


@pytest.mark.parametrize(
    ("text", "position", "length", "message"),
    [
        ("ruby &", 5, 1, "A tag is missing after “&”."),
        ("ruby & | web", 5, 1, "A tag is missing after “&”."),
        ("ruby -", 5, 1, "A tag is missing after “-”."),
        ("& ruby", 0, 1, "A tag is missing before “&”."),
        ("  | ruby", 2, 1, "A tag is missing before “|”."),
        ("-", 0, 1, "A tag is missing after “-”."),
        ("((", 1, 1, "A tag is missing after “(”."),
        ("(ruby", 0, 1, "This opening bracket has no closing bracket."),
        ("a & (b | (c)", 4, 1, "This opening bracket has no closing bracket."),
        ("ruby)", 4, 1, "This closing bracket has no opening bracket."),
        (")", 0, 1, "A tag is missing before “)”."),
        ("a & ( )", 4, 3, "The brackets are empty."),
        ('web "ruby', 4, 1, "This quotation mark is not closed."),
        ('web "ruby\\"', 4, 1, "This quotation mark is not closed."),
        ('web ""', 4, 2, "The quotation marks are empty."),
        ('web "  "', 4, 4, "The quotation marks are empty."),
        ("web “ruby", 4, 1, "This quotation mark is not closed."),
        ("web ”ruby“", 4, 1, "This quotation mark is not closed."),
        ("web “”", 4, 2, "The quotation marks are empty."),
        ("ruby –", 5, 1, "A tag is missing after “-”."),
        ("a\0b", 1, 1, "Tag names cannot contain this character."),
        ("a\ud800", 1, 1, "Tag names cannot contain this character."),
    ],
)
def test_invalid_queries_are_refused_with_the_place(text: str, position: int, length: int, message: str) -> None:
    with override("en"), pytest.raises(QueryError) as caught:
        parse(text)
    with override("en"):
        assert (str(caught.value), caught.value.position, caught.value.length) == (message, position, length)
    assert caught.value.text == text


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MAX_LENGTH + 1),
        "(" * MAX_LENGTH,
        "-" * MAX_LENGTH,
        " ".join(["x"] * (MAX_TERMS + 1)),
        "(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1),
        "-(" * (MAX_DEPTH // 2 + 1) + "x" + ")" * (MAX_DEPTH // 2 + 1),
    ],
)
def test_overlong_and_too_deep_queries_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match="too"):
        parse(text)


def test_the_limits_themselves_are_allowed() -> None:
    assert parse("x" * MAX_LENGTH) == Tag("x" * MAX_LENGTH)
    assert parse(" ".join(["x"] * MAX_TERMS)) == And((Tag("x"),) * MAX_TERMS)
    assert parse("(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH) == Tag("x")


def test_an_error_shows_the_place_with_a_little_around_it() -> None:
    with pytest.raises(QueryError) as caught:
        parse("a" * 500 + " & | " + "b" * 500)
    before, at, after = caught.value.excerpt
    assert at == "&"
    assert "".join(caught.value.excerpt) in caught.value.text
    assert len(before) == len(after) == 60


def test_terms_are_included_or_excluded() -> None:
    node = parse("a & b - (c - d) | -b")
    assert node is not None
    assert find_terms(node) == {"a", "b", "c", "d"}
    assert find_positive_terms(node) == {"a", "b", "d"}


@pytest.mark.parametrize(
    "texts",
    [
        ("a & b & c", "c b a", "(a & c) & b & a", "- -a & (b & - -c)"),
        ("a | b | c", "(c | b) | (a | b)"),
        ("a - b", "-b a", "(a & -b)", "a - b - b"),
        ("(a | b) - c", "-c & (b | a | b)"),
        ("a", "((a))", "a & a", "a | a", "(a | a) & a", "- - a"),
    ],
)
def test_equal_queries_have_one_canonical_text(texts: tuple[str, ...]) -> None:
    assert {get_canonical_text(_parsed(text)) for text in texts} == {texts[0]}


@pytest.mark.parametrize("texts", [("a & b", "a | b"), ("a - b", "b - a"), ("a", "-a"), ('"a b"', "a b")])
def test_different_queries_have_different_canonical_texts(texts: tuple[str, str]) -> None:
    assert get_canonical_text(_parsed(texts[0])) != get_canonical_text(_parsed(texts[1]))


@pytest.mark.parametrize(
    ("query", "name", "longer"),
    [
        ("", "Web Design", '"web design"'),
        ("ruby", "web", "ruby & web"),
        ("ruby & web", "web", "ruby & web"),
        ("ruby | web", "erlang", "(ruby | web) & erlang"),
        ("ruby - web", "-x", 'ruby - web & "-x"'),
    ],
)
def test_a_facet_narrows_the_query(query: str, name: str, longer: str) -> None:
    assert add_term(parse(query), name) == longer
    assert parse(longer) is not None


@pytest.mark.parametrize(
    ("query", "name", "shorter"),
    [
        ("", "web", ""),
        ("web", "Web", ""),
        ("-web", "web", ""),
        ("ruby & web", "web", "ruby"),
        ("ruby - web", "web", "ruby"),
        ("(ruby | web) & erlang", "web", "ruby & erlang"),
        ("ruby - (web | -web)", "web", "ruby"),
        ("ruby", "erlang", "ruby"),
    ],
)
def test_a_chip_removes_its_term(query: str, name: str, shorter: str) -> None:
    assert remove_term(parse(query), name) == shorter


def _parsed(text: str) -> Node:
    node = parse(text)
    assert node is not None
    return node


MEMBERS = {name: {n for n in range(64) if n >> (i % 6) & 1 or n % 13 == i} for i, name in enumerate(NAMES)}
ALL = set(range(64))


def _books(node: Node) -> set[int]:
    return evaluate(node, MEMBERS.__getitem__, lambda: ALL)


def _satisfies(node: Node, book: int) -> bool:
    """Evaluate a query for one book, in the slow and obvious way."""
    if isinstance(node, Tag):
        return book in MEMBERS[node.name]
    if isinstance(node, Not):
        return not _satisfies(node.part, book)
    combine: Callable[[bool, bool], bool] = operator.and_ if isinstance(node, And) else operator.or_
    return reduce(combine, (_satisfies(part, book) for part in node.parts))


@given(nodes())
def test_sets_and_bitmaps_equal_a_check_of_each_book(node: Node) -> None:
    truth = {book for book in ALL if _satisfies(node, book)}
    bitmaps = {name: BitMap(books) for name, books in MEMBERS.items()}
    assert evaluate(node, MEMBERS.__getitem__, lambda: ALL) == truth
    assert set(evaluate(node, bitmaps.__getitem__, lambda: BitMap(ALL))) == truth


@pytest.mark.parametrize("text", ["a - b", "a & -(b | -c)", "(a | b) - c", "a - (b - c)", "-(-a | -b)"])
def test_the_universe_is_only_called_if_needed(text: str) -> None:
    def universe() -> set[int]:
        raise AssertionError("not needed")

    evaluate(_parsed(text), MEMBERS.__getitem__, universe)


@given(nodes())
def test_the_text_of_a_query_parses_to_an_equivalent_query(node: Node) -> None:
    again = _parsed(format_query(node))
    assert get_canonical_text(again) == get_canonical_text(node)
    assert evaluate(again, MEMBERS.__getitem__, lambda: ALL) == evaluate(node, MEMBERS.__getitem__, lambda: ALL)


@given(nodes())
def test_the_canonical_text_means_the_same_and_is_its_own_canonical_text(node: Node) -> None:
    text = get_canonical_text(node)
    assert get_canonical_text(_parsed(text)) == text
    assert {b for b in ALL if _satisfies(_parsed(text), b)} == {b for b in ALL if _satisfies(node, b)}


@given(nodes(), st.sampled_from(NAMES))
def test_adding_a_term_narrows_and_removing_it_leaves_no_trace(node: Node, name: str) -> None:
    assert _books(_parsed(add_term(node, name))) == _books(node) & MEMBERS[name]
    left = parse(remove_term(node, name))
    assert left is None or find_terms(left) == find_terms(node) - {name}


anything = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=st.characters(), max_size=80),
    st.text(alphabet='ab&|-()"\\ \0', max_size=80),
)


@given(anything)
def test_any_text_is_a_query_or_a_query_error_within_it(text: str) -> None:
    node, error = None, None
    try:
        node = parse(text)
    except QueryError as caught:
        error = caught
    assert node is None or all(name == normalise(name) != "" for name in find_terms(node))
    assert error is None or (0 <= error.position <= len(text) and error.length >= 1 and str(error))
