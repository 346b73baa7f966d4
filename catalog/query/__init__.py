"""The tag query language: ``ruby & web``, ``ruby - web``, ``(fantasy | sf) - romance``, ``"young adult"``.

    query  = all ("|" all)*                any of these
    all    = one (("&" | "-" | ) one)*     all of these; "-" excludes; two adjacent terms mean "&"
    one    = "-" one | "(" query ")" | name

``&`` and ``-`` bind tighter than ``|``. A hyphen inside a word belongs to the name: ``young-adult`` is one
tag, ``young - adult`` a difference. A quoted name may contain any character. Names are normalised.
This package uses neither SQL nor Redis.
"""

from catalog.query.algebra import evaluate, positive_terms, terms, terms_in_order
from catalog.query.nodes import And, Node, Not, Or, Tag
from catalog.query.parser import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, QueryError, parse
from catalog.query.text import canonical, normal, renamed, to_text, with_term, without_term

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
    "canonical",
    "evaluate",
    "normal",
    "parse",
    "positive_terms",
    "renamed",
    "terms",
    "terms_in_order",
    "to_text",
    "with_term",
    "without_term",
]
