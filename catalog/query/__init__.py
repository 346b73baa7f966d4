"""The tag query language: ``ruby & web``, ``ruby - web``, ``(fantasy | sf) - romance``, ``"young adult"``.

    query  = all ("|" all)*                any of these
    all    = one (("&" | "-" | ) one)*     all of these; "-" excludes; two adjacent terms mean "&"
    one    = "-" one | "(" query ")" | name

``&`` and ``-`` bind tighter than ``|``. A hyphen inside a word belongs to the name: ``young-adult`` is one
tag, ``young - adult`` a difference. A quoted name may contain any character. Names are normalised.
This package uses neither SQL nor Redis.
"""

from catalog.query.algebra import evaluate, find_positive_terms, find_terms, find_terms_in_order
from catalog.query.nodes import And, Node, Not, Or, Tag
from catalog.query.parser import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, QueryError, parse
from catalog.query.text import (
    add_alternative,
    add_term,
    exclude_term,
    find_joints,
    format_query,
    get_canonical_text,
    negate_term,
    normalise_query,
    remove_term,
    replace_term,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_TERMS",
    "And",
    "Node",
    "Not",
    "Or",
    "QueryError",
    "Tag",
    "add_alternative",
    "add_term",
    "evaluate",
    "exclude_term",
    "find_joints",
    "find_positive_terms",
    "find_terms",
    "find_terms_in_order",
    "format_query",
    "get_canonical_text",
    "negate_term",
    "normalise_query",
    "parse",
    "remove_term",
    "replace_term",
]
