"""Convert a query back to text, for people to edit or as a normal form to cache answers under."""

from catalog.names import normalise
from catalog.query.nodes import And, Node, Not, Or, Tag
from catalog.query.parser import BARE


def to_text(node: Node) -> str:
    """Return the query as a person would type it, in the order of its parts. The text parses to an equivalent query."""
    if isinstance(node, Tag):
        return _name(node.name)
    if isinstance(node, Not):
        return "-" + _tight(node.part)
    if isinstance(node, Or):
        return " | ".join(f"({to_text(part)})" if isinstance(part, Or) else to_text(part) for part in node.parts)
    first, *rest = node.parts
    text = _tight(first, may_negate=True)
    for part in rest:
        text += f" - {_tight(part.part)}" if isinstance(part, Not) else f" & {_tight(part)}"
    return text


def _tight(node: Node, *, may_negate: bool = False) -> str:
    """Return the text of ``node`` as an operand of an operator that binds tighter than ``|``."""
    bare = isinstance(node, Tag) or (may_negate and isinstance(node, Not))
    return to_text(node) if bare else f"({to_text(node)})"


def _name(name: str) -> str:
    if BARE.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def normal(node: Node) -> Node:
    """Return an equivalent query: flattened, in a fixed order, without repetitions and double negations."""
    if isinstance(node, Tag):
        return node
    if isinstance(node, Not):
        part = normal(node.part)
        return part.part if isinstance(part, Not) else Not(part)
    kind: type[And | Or] = type(node)
    found: set[Node] = set()
    for part in map(normal, node.parts):
        found.update(part.parts if isinstance(part, kind) else (part,))
    parts = sorted(found, key=lambda part: (isinstance(part, Not), to_text(part)))
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def canonical(node: Node) -> str:
    """Return the text of the normal form, which ignores order, brackets and repetitions."""
    return to_text(normal(node))


def with_term(node: Node | None, name: str) -> str:
    """Return the text of the query narrowed to books that also have the tag ``name``."""
    tag = Tag(normalise(name))
    if node is None:
        return to_text(tag)
    parts = node.parts if isinstance(node, And) else (node,)
    return to_text(node if tag in parts else And((*parts, tag)))


def without_term(node: Node | None, name: str) -> str:
    """Return the text of the query without any occurrence of ``name``; "" if nothing remains."""
    left = _without(node, Tag(normalise(name))) if node else None
    return to_text(left) if left else ""


def _without(node: Node, tag: Tag) -> Node | None:
    if isinstance(node, Tag):
        return None if node == tag else node
    if isinstance(node, Not):
        part = _without(node.part, tag)
        return Not(part) if part else None
    parts = tuple(part for part in (_without(p, tag) for p in node.parts) if part)
    if len(parts) < 2:
        return parts[0] if parts else None
    return type(node)(parts)


def renamed(node: Node, name: str, other: str) -> Node:
    """Return the query with ``other`` in place of every ``name``."""
    if isinstance(node, Tag):
        return Tag(normalise(other)) if node.name == name else node
    if isinstance(node, Not):
        return Not(renamed(node.part, name, other))
    return type(node)(tuple(renamed(part, name, other) for part in node.parts))
