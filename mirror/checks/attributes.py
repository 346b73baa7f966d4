"""System checks of the attributes of a declaration: a wrong one would be ignored, or fail at the first drain."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning

from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of

FLAGS: Final = ("strict", "inline_deletes")
SIMILAR: Final = 0.7  # from 0 to 1; "indices" and "indexes" have 0.71


def check_replaced_methods(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that no attribute has the name of a method, which the library calls."""
    library = kind_of(mirror).declaration
    for name, value in _list_own_attributes(mirror).items():
        if (
            callable(value)
            or isinstance(value, (classmethod, staticmethod))
            or not callable(getattr(library, name, None))
        ):
            continue
        hint = (
            "A list of indexes is called indexes." if name == "index" else "Define a method, or rename the attribute."
        )
        text = f"Mirror {mirror.name!r} has {name} = {value!r}, and {name} is a method."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E001")


def check_attributes(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check the values of attributes that nothing else checks, and look for misspelled names."""
    if mirror.where is not None and not mirror.fields:
        # Nothing applies the condition, so the mirror would show the rows that it should leave out.
        text = f"Mirror {mirror.name!r} has where without fields, and its own load() does not apply it."
        hint = "Leave the rows out in load(), and remove where."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E001")
    for name in FLAGS:
        value: object = getattr(mirror, name)
        if not isinstance(value, bool):
            text = f"Mirror {mirror.name!r} has {name} = {value!r}."
            yield Error(text, hint="Write True or False.", obj=type(mirror), id="mirror.E001")
    yield from _check_spelling(mirror)


def _check_spelling(mirror: Mirror) -> Iterator[CheckMessage]:
    """Look for values whose names resemble those of the library."""
    library = kind_of(mirror).declaration
    known = _list_known_names(library)
    attributes = [name for name in known if not callable(getattr(library, name, None))]
    for name, value in _list_own_attributes(mirror).items():
        if name in known or callable(value) or hasattr(value, "__get__"):
            continue
        similar = get_close_matches(name, attributes, n=1, cutoff=SIMILAR)
        if similar:
            text = f"Mirror {mirror.name!r} has {name}, which the library does not use; did you mean {similar[0]!r}?"
            hint = "Rename it. The name of an attribute of your own may begin with an underscore."
            yield Warning(text, hint=hint, obj=type(mirror), id="mirror.W048")


def _list_own_attributes(mirror: Mirror) -> Mapping[str, Any]:
    """Return the public attributes that the application gave to a declaration, also by its own base classes."""
    library = kind_of(mirror).declaration
    found: dict[str, Any] = {}
    for declaration in reversed(type(mirror).__mro__):
        if not issubclass(library, declaration):
            found.update(vars(declaration))
    return {name: value for name, value in found.items() if not name.startswith("_")}


def _list_known_names(library: type[Mirror]) -> set[str]:
    """Return the public names of a kind's declaration, with those of attributes without a default."""
    known: set[str] = set()
    for declaration in library.__mro__:
        known.update(vars(declaration), getattr(declaration, "__annotations__", ()))
    return {name for name in known if not name.startswith("_")}
