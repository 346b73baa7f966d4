"""The form that combines tags without a typed query, and the completion of tags."""

from urllib.parse import unquote_plus

import pytest
from django.test import Client

from catalog import query
from tests.support.catalog.make import make_book
from tests.support.search.queries import warm_search

# query, tag, way, new query
COMBINED = [
    ("", "fantasy", "and", "fantasy"),
    ("", "fantasy", "not", "-fantasy"),
    ("", "Young  Adult", "and", '"young adult"'),
    ("fantasy", "magic", "and", "fantasy & magic"),
    ("fantasy", "magic", "or", "fantasy | magic"),
    ("fantasy", "magic", "not", "fantasy - magic"),
    ("fantasy & magic", "war", "or", "fantasy & (magic | war)"),
    ("fantasy & (magic | war)", "peace", "or", "fantasy & (magic | war | peace)"),
    ("fantasy - war", "magic", "or", "(fantasy | magic) - war"),
    ("fantasy | magic", "war", "not", "(fantasy | magic) - war"),
    ("-war", "magic", "or", "-war | magic"),
    ("fantasy", "fantasy", "or", "fantasy"),
    ("fantasy – war", "“magic”", "and", "fantasy & magic - war"),  # as a word processor writes it
    ("fantasy", "rock & roll", "and", 'fantasy & "rock & roll"'),
    ("fantasy", " ", "and", "fantasy"),
    ("fantasy &", "magic", "and", "fantasy &"),  # the list shows the error
    ("fantasy", "magic", "other", "fantasy & magic"),
]


def test_tags_are_added_in_three_ways(client: Client) -> None:
    for text, tag, how, expected in COMBINED:
        given = {"q": text, "tag": tag, "how": how, "sort": "title", "year_from": "1990", "other": "1"}
        response = client.get("/books/combine/", given)
        found = dict(part.split("=", 1) for part in response.headers["Location"].partition("?")[2].split("&"))
        assert response.status_code == 302
        both = query.parse(expected) if expected != text else None
        if both:
            shown = query.parse(unquote_plus(found["q"]))
            assert shown
            assert query.get_canonical_text(shown) == query.get_canonical_text(both), (text, tag, how)
        else:
            assert unquote_plus(found["q"]) == expected
        assert {name: value for name, value in found.items() if name != "q"} == {"sort": "title", "year_from": "1990"}


def test_chips_name_what_joins_them_and_turn_a_tag_round() -> None:
    for text, joints, turned in (
        ("a & b", {"a": "", "b": "and"}, "a - b"),
        ("a | b", {"a": "", "b": "or"}, "a | -b"),
        ("a - b", {"a": "", "b": "and"}, "a & b"),
        ("a & (c | b)", {"a": "", "c": "and", "b": "or"}, "a & (c | -b)"),
    ):
        node = query.parse(text)
        assert node
        assert query.find_joints(node) == joints
        assert query.negate_term(node, "b") == turned
        assert query.remove_term(query.parse(turned), "b") == query.remove_term(node, "b")


@pytest.mark.django_db(transaction=True)
def test_fields_of_tags_complete_them(client: Client) -> None:
    make_book("Dune", tags="science-fiction desert")
    for title in ("Emma", "Ada"):
        make_book(title, tags="science")
    warm_search()
    options = client.get("/books/tags/", {"tag": "scien"}).content.decode()
    assert options.strip() == '<option value="science"><option value="science-fiction">'
    assert client.get("/books/tags/", {"tag": "s"}).content.strip() == b""
