"""System checks of declarations, which need no database."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, get_args

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from mirror import registry
from mirror.capture import install
from mirror.checks.aliases import check_aliases, check_reads, check_router
from mirror.checks.attributes import check_attributes, check_replaced_methods
from mirror.checks.constancy import check_constancy
from mirror.checks.lookups import check_lookups
from mirror.checks.servers import check_replies
from mirror.checks.watches import check_chains, check_watches
from mirror.comparison.scan import Owned
from mirror.conf import setting
from mirror.declare.indexes import parse_template
from mirror.declare.layout import Layout
from mirror.declare.mirrors import Drain, Mirror
from mirror.declare.paths import DeclarationError
from mirror.declare.watches import Family, Kind
from mirror.kinds import kind_of
from mirror.redis import naming

LONGEST_NAME: Final = 64
# A number and a text: a model with numbers as primary keys cannot have the second one.
EXAMPLES: Final = ("1", "x")
# Of the engines of django-tenants, django-tenant-schemas and django-pgschemas
METHODS_OF_TENANTS: Final = ("set_tenant", "set_schema", "_handle_search_path")
# Some of the library's own keys, of each form
RESERVED: Final = (naming.clock(), naming.verification(), naming.heartbeat(), naming.marker("x"), naming.lease("x"))


AFTER_OTHERS: Final = (
    "An app that comes after mirror in INSTALLED_APPS has added the field since, as django-modeltranslation does: list "
    "mirror behind it."
)


@register()
def check_declarations(**kwargs: Any) -> list[CheckMessage]:
    """Check everything about declarations that needs no database."""
    found: list[CheckMessage] = []
    for declaration, fault in registry.refused():
        text = f"{declaration.__module__}.{declaration.__qualname__} {_end_sentence(fault)}"
        hint = AFTER_OTHERS if "has no field" in fault and _is_possible_now(declaration) else _hint_of(fault)
        found.append(Error(text, hint=hint, id="mirror.E001"))
    for mirror in registry.all_mirrors():
        found += _check_mirror(mirror)
    found += _check_drain(setting("DRAIN"), 'MIRROR["DRAIN"]')
    found += check_chains()
    found += _check_starts()
    found += _check_prefix()
    found += check_replies()
    found += check_router()
    found += check_aliases()
    found += check_reads()
    return found


def _check_mirror(mirror: Mirror) -> list[CheckMessage]:
    """Check one declaration by itself."""
    replaced = list(check_replaced_methods(mirror))
    if replaced:
        # The other checks call these methods.
        return replaced
    found = _check_shape(mirror)
    found += check_attributes(mirror)
    if mirror.drain:
        found += _check_drain(mirror.drain, f"Mirror {mirror.name!r}: drain", type(mirror))
    found += check_watches(mirror)
    found += kind_of(mirror).check()
    found += check_constancy(mirror)
    found += _check_readers(mirror)
    found += check_lookups(mirror)
    if len(mirror.name) > LONGEST_NAME:
        hint = f"A mirror's name has at most {LONGEST_NAME} characters."
        found.append(Error(f"The name {mirror.name!r} is too long.", hint=hint, obj=mirror, id="mirror.E002"))
    return found


def _end_sentence(sentence: str) -> str:
    if sentence.endswith("?"):
        return sentence
    return f"{sentence.rstrip('.')}."


def _is_possible_now(declaration: type[Mirror]) -> bool:
    """Return whether the fields of a refused declaration are right since all apps are ready."""
    try:
        Layout(declaration)
    except DeclarationError:
        return False
    return True


def _hint_of(fault: str) -> str:
    if not fault.startswith("is wrong"):
        return "A mirror needs a unique name, a model, and a list of watches on models."
    if ";" in fault and "has no field" not in fault:
        # The fault itself says what to do in its second half.
        return "Without fields and indexes, load(), record() and index() may compute anything; declare their watches."
    return "fields, indexes and where contain names of columns and relations of the model, and classes of mirror."


def _check_shape(mirror: Mirror) -> list[CheckMessage]:
    """Check methods, keys and families."""
    lacking = list(_check_methods(mirror))
    if lacking:
        # Without its methods a mirror has neither keys nor families that could be checked.
        return lacking
    found = list(_check_record_key(mirror))
    found += _check_families(mirror)
    found += _check_own_keys(mirror)
    found += _check_reserved(mirror)
    return found


def _check_readers(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that SQL can answer the readers of each index."""
    if not mirror.layout:
        return
    for index in mirror.layout.indexes:
        if index.sql is None and not mirror.layout.can_derive(index):
            hint = "Give it sql=, a function that returns the members as mirror.SqlMembers."
            text = f"Mirror {mirror.name!r}: {index.key!r} has no answer in SQL, so its readers fail without Redis."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E049")


def _check_drain(mode: object, name: str, place: type[Mirror] | None = None) -> Iterator[CheckMessage]:
    """Check that a mode exists. Without it the mirror would be drained at once."""
    if mode not in get_args(Drain):
        hint = f"The modes are {', '.join(get_args(Drain))}."
        yield Error(f"{name} is {mode!r}, which is no mode.", hint=hint, obj=place, id="mirror.E024")


def _check_prefix() -> Iterator[CheckMessage]:
    """Check that the prefix has no braces, because they would determine the slots of all keys."""
    text = setting("PREFIX")
    if not isinstance(text, str) or set(text) & set("{}"):
        hint = 'Set MIRROR["PREFIX"] to a string without braces, for example "shop1:".'
        yield Error(f"The prefix {text!r} must be a string without braces.", hint=hint, id="mirror.E023")


def _check_methods(mirror: Mirror) -> Iterator[CheckMessage]:
    lacking = _find_lacking(mirror)
    if lacking:
        names = ", ".join(lacking)
        hint = (
            'key is a template of the keys in Redis, like "book:{pk}". A list of fields replaces load() and record(), '
            "a list of indexes families()."
        )
        yield Error(f"Mirror {mirror.name!r} does not define {names}.", hint=hint, obj=type(mirror), id="mirror.E003")


def _find_lacking(mirror: Mirror) -> list[str]:
    """Return the methods that a declaration neither defines nor has derived."""
    kind = kind_of(mirror)
    derived = _find_derived(mirror)
    lacking: list[str] = []
    for name in kind.needed:
        is_inherited = getattr(type(mirror), name) is getattr(kind.declaration, name)
        if is_inherited and name not in derived:
            # Declarations give the template ``key``, not the method that fills it.
            lacking.append("key" if name == "record_key" else f"{name}()")
    return lacking


def _find_derived(mirror: Mirror) -> set[str]:
    """Return the methods that follow from the attributes of a declaration."""
    derived: set[str] = set()
    if mirror.key:
        derived.add("record_key")
    if mirror.layout and mirror.layout.fields:
        derived |= {"load", "record"}
    if mirror.layout and mirror.layout.indexes:
        derived.add("families")
    return derived


def _check_record_key(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that rows have different keys. Otherwise they would overwrite one another's records."""
    if not mirror.has_record or any(watch.whole for watch in mirror.watches):
        return
    unknown = _find_unknown(mirror)
    if unknown:
        message = f"The key {mirror.key!r} of mirror {mirror.name!r} contains {unknown!r}, which it cannot know."
        hint = 'A record has the primary key in its key, and nothing else: key = "book:{pk}".'
        yield Error(message, hint=hint, obj=type(mirror), id="mirror.E025")
        return
    # An error is reported with the families.
    with suppress(Exception):
        key, other = map(mirror.record_key, ("1", "2"))
        if key == other:
            message = f"Mirror {mirror.name!r} has the same key for all rows: {key!r}."
            hint = 'Put the primary key into it: key = "book:{pk}".'
            yield Error(message, hint=hint, obj=type(mirror), id="mirror.E025")


def _find_unknown(mirror: Mirror) -> str:
    """Return a placeholder of the record's key that is not the primary key, or ""."""
    # An error is reported with the families.
    with suppress(DeclarationError):
        for name in parse_template(mirror.key).names:
            if name != "pk":
                return name
    return ""


def _check_families(mirror: Mirror) -> Iterator[CheckMessage]:
    try:
        families = mirror.families()
        record = _find_record_start(mirror)
    except Exception as error:
        # An unknown placeholder is reported with the record's key.
        if not _find_unknown(mirror):
            yield _report_families(mirror, f"fails to list its key families: {error!r}")
        return
    wrong = [family for family in families if not isinstance(family, Family)]
    if wrong:
        yield _report_families(mirror, f"lists {wrong[0]!r} in families(), which is no Family")
        return
    if not families and type(mirror).index is not Mirror.index:
        yield _report_families(mirror, "has no key family for its entries")
    for family in families:
        yield from _check_kind(mirror, family)
    starts = [family.start for family in families]
    for start in [*starts, record]:
        if start == "":
            yield _report_families(mirror, "has a key family with an empty prefix, which would contain all keys")


def _check_kind(mirror: Mirror, family: Family) -> Iterator[CheckMessage]:
    kinds = get_args(Kind)
    if family.kind not in kinds:
        text = f"Mirror {mirror.name!r} has a key family of the unknown kind {family.kind!r}."
        hint = f"The kinds are {', '.join(kinds)}."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E007")


def _report_families(mirror: Mirror, fault: str) -> CheckMessage:
    hint = "families() lists the key families of the entries; verify needs it to find strays."
    return Error(f"Mirror {mirror.name!r} {fault}.", hint=hint, obj=type(mirror), id="mirror.E007")


def _find_record_start(mirror: Mirror) -> str | None:
    """Return the common beginning of the records' keys (for a summary: the key), or None without records."""
    if not mirror.has_record:
        return None
    start, _, _ = mirror.record_key("\0").partition("\0")
    return start


def _check_own_keys(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that no key can belong to two structures of a mirror: they would overwrite each other."""
    # An error is reported for the families themselves.
    with suppress(Exception):
        key = _find_shared_key(mirror)
        if key is not None:
            text = f"Keys such as {key!r} belong to several structures of mirror {mirror.name!r}."
            hint = "Begin the key of each structure in another way."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E008")


def _find_shared_key(mirror: Mirror) -> str | None:
    """Return a key that can belong to several structures of a mirror, or None."""
    families = list(mirror.families())
    if not all(family.start for family in families):
        # A family without a beginning contains all keys, as reported by _check_families.
        return None
    for _, key in _list_examples(mirror):
        if _count_structures(mirror, families, key) > 1:
            return key
    return None


def _count_structures(mirror: Mirror, families: list[Family], key: str) -> int:
    """Return the number of structures of a mirror to which a key can belong."""
    # Indexes of one form share their structures: a set of this form is the same set.
    forms = {(family.start, family.end, family.whole, family.kind) for family in families if family.has(key)}
    is_record = mirror.has_record and mirror.pk_of(key) is not None
    return len(forms) + is_record


def _check_starts() -> list[CheckMessage]:
    """Check that no two mirrors own the same keys: each would delete the other's keys as strays."""
    messages: list[CheckMessage] = []
    for names, start in _find_shared_starts().items():
        text = f"Keys that start with {start!r} belong to several mirrors: {', '.join(names)}."
        hint = "Give each mirror its own keys: entries of one mirror would be strays of the other."
        messages.append(Error(text, hint=hint, id="mirror.E008"))
    return messages


def _check_reserved(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that a mirror owns none of the library's keys, which verify would take for strays."""
    # An error is reported for the mirror itself.
    with suppress(Exception):
        owned = Owned(mirror)
        taken = [name for name in RESERVED if owned.has(name)]
        # A family without a beginning contains all keys, as reported by _check_families.
        if taken and all(family.start for family in mirror.families()):
            text = f"Keys of mirror {mirror.name!r} may equal the library's own keys, such as {taken[0]!r}."
            hint = 'Begin its keys in another way than "mirror:".'
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E008")


def _find_shared_starts() -> dict[tuple[str, ...], str]:
    """Return the mirrors that own the same keys, each time with the beginning of one of these keys."""
    owned: dict[str, Owned] = {}
    examples: list[tuple[str, str, str]] = []
    for mirror in registry.all_mirrors():
        # An error is reported for the mirror itself.
        with suppress(Exception):
            own = list(_list_examples(mirror))
            # A family without a beginning contains all keys, as reported above.
            if all(start for start, _ in own):
                examples += [(start, key, mirror.name) for start, key in own]
                owned[mirror.name] = Owned(mirror)
    shared: dict[tuple[str, ...], str] = {}
    for start, key, name in sorted(examples):
        owners = {other for other, keys in owned.items() if keys.has(key)}
        owners.add(name)
        if len(owners) > 1:
            # Once for the same mirrors, however many of their keys are equal
            shared.setdefault(tuple(sorted(owners)), start)
    return shared


def _list_examples(mirror: Mirror) -> Iterator[tuple[str, str]]:
    """Yield keys of each form that a mirror owns, each with the beginning of its form."""
    for family in mirror.families():
        if family.whole:
            yield family.start, family.start
            continue
        for text in EXAMPLES:
            yield family.start, f"{family.start}{text}{family.end}"
    start = _find_record_start(mirror)
    if start is None:
        return
    # The key of a summary is the same for both.
    for key in dict.fromkeys(map(mirror.record_key, EXAMPLES)):
        if mirror.pk_of(key) is not None:
            yield start, key


@register()
def check_vendor(**kwargs: Any) -> list[CheckMessage]:
    """Check that capture supports the database's vendor, which is read from the settings."""
    if setting("DATABASE") not in connections:
        # The check of the settings reports it.
        return []
    try:
        install.capture_for()
    except ImproperlyConfigured as error:
        hint = 'Point MIRROR["DATABASE"] at a database of a kind that has a capture.'
        return [Error(str(error), hint=hint, id="mirror.E009")]
    return list(_check_engine())


def _check_engine() -> Iterator[CheckMessage]:
    """Refuse engines that change the search path of a connection: one key would have rows of several tenants."""
    connection = connections[setting("DATABASE")]
    if any(hasattr(connection, name) for name in METHODS_OF_TENANTS):
        engine = connection.settings_dict["ENGINE"]
        text = f"The engine {engine!r} changes schemas within a process, and rows of all schemas would have equal keys."
        hint = (
            'Give each schema processes of its own, with a search_path in OPTIONS and a MIRROR["PREFIX"]; or tell '
            "tenants apart by a column."
        )
        yield Error(text, hint=hint, id="mirror.E052")
