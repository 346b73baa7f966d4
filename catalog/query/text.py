"""Convert a query back to text, for people to edit or as a normal form to cache answers under."""

from catalog.names import normalise
from catalog.query.nodes import And, Node, Not, Or, Tag
from catalog.query.parser import BARE_NAME


def format_query(node: Node) -> str:
    """Return the query as a person would type it, in the order of its parts. The text parses to an equivalent query."""
    if isinstance(node, Tag):
        return _format_name(node.name)
    if isinstance(node, Not):
        return "-" + _format_operand(node.part)
    if isinstance(node, Or):
        return " | ".join(map(_format_alternative, node.parts))
    text = _format_operand(node.parts[0], may_negate=True)
    for part in node.parts[1:]:
        if isinstance(part, Not):
            text += f" - {_format_operand(part.part)}"
        else:
            text += f" & {_format_operand(part)}"
    return text


def _format_alternative(part: Node) -> str:
    # An "or" in an "or" comes only from brackets, and stays a part of its own.
    return f"({format_query(part)})" if isinstance(part, Or) else format_query(part)


def _format_operand(node: Node, *, may_negate: bool = False) -> str:
    """Return the text of ``node`` as an operand of an operator that binds tighter than ``|``."""
    bare = isinstance(node, Tag) or (may_negate and isinstance(node, Not))
    return format_query(node) if bare else f"({format_query(node)})"


def _format_name(name: str) -> str:
    if BARE_NAME.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def normalise_query(node: Node) -> Node:
    """Return an equivalent query: flattened, in a fixed order, without repetitions and double negations."""
    if isinstance(node, Tag):
        return node
    if isinstance(node, Not):
        part = normalise_query(node.part)
        return part.part if isinstance(part, Not) else Not(part)
    kind: type[And | Or] = type(node)
    found: set[Node] = set()
    for part in map(normalise_query, node.parts):
        found.update(part.parts if isinstance(part, kind) else (part,))
    parts = sorted(found, key=lambda part: (isinstance(part, Not), format_query(part)))
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def get_canonical_text(node: Node) -> str:
    """Return the text of the normal form, which ignores order, brackets and repetitions."""
    return format_query(normalise_query(node))


def add_term(node: Node | None, name: str) -> str:
    """Return the text of the query narrowed to books that also have the tag ``name``."""
    tag = Tag(normalise(name))
    if node is None:
        return format_query(tag)
    parts = node.parts if isinstance(node, And) else (node,)
    if tag in parts:
        return format_query(node)
    return format_query(And((*parts, tag)))


def exclude_term(node: Node | None, name: str) -> str:
    """Return the text of the query narrowed to books without the tag ``name``."""
    excluded = Not(Tag(normalise(name)))
    if node is None:
        return format_query(excluded)
    parts = node.parts if isinstance(node, And) else (node,)
    return format_query(node if excluded in parts else And((*parts, excluded)))


def add_alternative(node: Node | None, name: str) -> str:
    """Return the text of the query in which the tag ``name`` is an alternative to the last tag that it includes."""
    tag = Tag(normalise(name))
    if node is None:
        return format_query(tag)
    parts = list(node.parts) if isinstance(node, And) else [node]
    included = [n for n, part in enumerate(parts) if not isinstance(part, Not)]
    if not included:
        return format_query(Or((node, tag)))
    last = parts[included[-1]]
    alternatives = last.parts if isinstance(last, Or) else (last,)
    if tag not in alternatives:
        parts[included[-1]] = Or((*alternatives, tag))
    return format_query(parts[0] if len(parts) == 1 else And(tuple(parts)))


def negate_term(node: Node, name: str) -> str:
    """Return the text of the query that excludes the tag ``name`` where it was included, and the other way round."""
    return format_query(_negate_tag(node, Tag(normalise(name))))


def _negate_tag(node: Node, tag: Tag) -> Node:
    if isinstance(node, Tag):
        return Not(node) if node == tag else node
    if isinstance(node, Not):
        return tag if node.part == tag else Not(_negate_tag(node.part, tag))
    return type(node)(tuple(_negate_tag(part, tag) for part in node.parts))


def find_joints(node: Node, joint: str = "") -> dict[str, str]:
    """Return for each name, at its first place in the query, what joins it to the name before: "", "and" or "or"."""
    if isinstance(node, Tag):
        return {node.name: joint}
    if isinstance(node, Not):
        return find_joints(node.part, joint)
    own = "and" if isinstance(node, And) else "or"
    found: dict[str, str] = {}
    for n, part in enumerate(node.parts):
        found = find_joints(part, own if n else joint) | found
    return found


def remove_term(node: Node | None, name: str) -> str:
    """Return the text of the query without any occurrence of ``name``; "" if nothing remains."""
    if node is None:
        return ""
    left = _remove_tag(node, Tag(normalise(name)))
    return format_query(left) if left else ""


def _remove_tag(node: Node, tag: Tag) -> Node | None:
    if isinstance(node, Tag):
        return None if node == tag else node
    if isinstance(node, Not):
        part = _remove_tag(node.part, tag)
        return Not(part) if part else None
    left = [_remove_tag(part, tag) for part in node.parts]
    parts = tuple(part for part in left if part)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else type(node)(parts)


def replace_term(node: Node, name: str, other: str) -> Node:
    """Return the query with ``other`` in place of every ``name``."""
    if isinstance(node, Tag):
        return Tag(normalise(other)) if node.name == name else node
    if isinstance(node, Not):
        return Not(replace_term(node.part, name, other))
    return type(node)(tuple(replace_term(part, name, other) for part in node.parts))
