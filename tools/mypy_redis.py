"""A plugin for mypy that narrows the types of redis-py's commands to those of this project's clients.

redis-py declares replies for all clients at once. A client without ``decode_responses`` returns bytes wherever
redis-py declares ``bytes | str``, and each command of a pipeline returns the pipeline. pyproject.toml loads the plugin.
A Protocol with the 70 commands in use would be a second declaration, which may be wrong and grows with each command.
The plugin can go when redis-py's classes are generic in the type of strings.
"""

from collections.abc import Callable

from mypy.nodes import TypeInfo
from mypy.plugin import MethodContext, Plugin
from mypy.type_visitor import TypeTranslator
from mypy.types import Instance, TupleType, Type, TypeAliasType, UnionType, get_proper_type

CLIENT = "redis.client.Redis"
PIPELINE = "redis.client.Pipeline"


class _Narrowing(TypeTranslator):
    """Removes str from each union with bytes, and from a tuple or a list, which are unpacked alike, the list."""

    def visit_union_type(self, t: UnionType) -> Type:
        items = [item.accept(self) for item in t.items]
        names = [_name(item) for item in items]
        if "builtins.bytes" in names:
            items = [item for item in items if _name(item) != "builtins.str"]
        elif sorted(names) == ["builtins.list", "builtins.tuple"]:
            items = [items[names.index("builtins.tuple")]]
        return UnionType.make_union(items)

    def visit_type_alias_type(self, t: TypeAliasType) -> Type:
        return get_proper_type(t).accept(self)


def _name(item: Type) -> str:
    proper = get_proper_type(item)
    if isinstance(proper, TupleType):
        return "builtins.tuple"
    return proper.type.fullname if isinstance(proper, Instance) else ""


def _narrow(context: MethodContext) -> Type:
    reply = get_proper_type(context.default_return_type.accept(_Narrowing()))
    if not isinstance(reply, UnionType):
        return reply
    # A union of lists has the list of members first, and then the one with scores.
    is_ranking = all(_name(item) == "builtins.list" for item in reply.items)
    if not is_ranking:
        return reply
    return reply.items[1] if _is_given(context, "withscores") else reply.items[0]


def _is_given(context: MethodContext, parameter: str) -> bool:
    arguments = zip(context.callee_arg_names, context.args, strict=True)
    return any(name == parameter and given for name, given in arguments)


def _return_pipeline(context: MethodContext) -> Type:
    return context.type


class RedisPlugin(Plugin):
    """Chooses the type of a reply by the class of the client."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Return the hook for a method of a client or of a pipeline."""
        owner, _, method = fullname.rpartition(".")
        if owner == CLIENT:
            return _narrow
        if owner == PIPELINE and self._is_command(owner, method):
            return _return_pipeline
        return None

    def _is_command(self, owner: str, method: str) -> bool:
        found = self.lookup_fully_qualified(owner)
        assert found is not None
        assert isinstance(found.node, TypeInfo)
        declared_in = found.node.get_containing_type_info(method)
        return declared_in is not None and declared_in.fullname.startswith("redis.commands.")


def plugin(version: str) -> type[Plugin]:
    """Return the plugin, for mypy."""
    return RedisPlugin
