"""Indexes of a declaration: structures in Redis to which each row contributes entries, derived from its record.

Keys are templates in the form of ``str.format``: ``{pk}``, ``{value}`` (of the field ``over`` or ``on``) and the names
of other fields of the record are replaced, and ``{{tag}}`` stands for the hash tag ``{tag}``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache, cached_property
from operator import itemgetter
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from mirror.declare.buckets import can_divide, find_bucket_key
from mirror.declare.entries import Contribution, Member, Members, Scored, Value
from mirror.declare.paths import DeclarationError

if TYPE_CHECKING:
    from django.db.models import QuerySet

Record = Mapping[str, Any]
SEPARATOR = "\0"  # between the text of a sorted member and its row's key


class Template:
    """A parsed template of a key or member. Raises DeclarationError if it is none.

    parts: texts, each with the name of the placeholder behind it, or None. start, end: the text before the first and
    behind the last placeholder.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = _parse_parts(text)
        self.names = [name for _, name in self.parts if name is not None]
        if "" in self.names:
            raise DeclarationError(f"{text!r} has a placeholder without a name")
        literals = [literal for literal, _ in self.parts]
        # Formatter ends a part at each double brace, so several parts may precede the first placeholder.
        places = [place for place, (_, name) in enumerate(self.parts) if name is not None]
        if places:
            self.start = "".join(literals[: places[0] + 1])
            self.end = "".join(literals[places[-1] + 1 :])
        else:
            self.start = "".join(literals)
            self.end = ""

    def fill(self, pk: str, value: Any, record: Record) -> str:
        """Return the text for a row. Fields without a value are empty."""
        if not self.names:
            return self.start
        # In few expressions, because each entry of a drain gets its key here.
        texts = [pk if n == "pk" else write_text(value if n == "value" else record[n]) for n in self.names]
        if len(texts) == 1:
            return f"{self.start}{texts[0]}{self.end}"
        found = iter(texts)
        return "".join([literal if name is None else literal + next(found) for literal, name in self.parts])

    def match(self, text: str) -> dict[str, str] | None:
        """Return values of the placeholders that make ``text``, or None if it does not fit the template."""
        return next(iter(self.find_matches(text)), None)

    def find_matches(self, text: str) -> Iterator[dict[str, str]]:
        """Return all values of the placeholders that make ``text``, the longest of the first placeholder first.

        There are several if a value contains the text between two placeholders: "a:b:c" fits "{x}:{y}" twice.
        """
        end = len(text) - len(self.end)
        if end < len(self.start) or not (text.startswith(self.start) and text.endswith(self.end)):
            return iter(())
        if len(self.names) == 1:
            # The usual case
            return iter([{self.names[0]: text[len(self.start) : end]}])
        return _match_parts(self.parts, text, {})


Parts = Sequence[tuple[str, str | None]]  # texts, each with the name of the placeholder behind it


def _parse_parts(text: str) -> Parts:
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise DeclarationError(f"{text!r} is no template: {error}; write a brace twice") from None
    parts: list[tuple[str, str | None]] = []
    for literal, name, form, conversion in parsed:
        if form or conversion:
            raise DeclarationError(f"{text!r} formats a value; a placeholder has only a name")
        parts.append((literal, name))
    return parts


def _match_parts(parts: Parts, text: str, values: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield the values that make ``text`` of the remaining parts, given those of earlier placeholders."""
    if not parts:
        if text == "":
            yield values
        return
    (literal, name), *rest = parts
    if not text.startswith(literal):
        return
    text = text[len(literal) :]
    if name is None:
        yield from _match_parts(rest, text, values)
    elif name in values:
        # The second place of a placeholder has the value of the first one.
        known = values[name]
        if text.startswith(known):
            yield from _match_parts(rest, text[len(known) :], values)
    else:
        for end in _list_ends(rest, text):
            yield from _match_parts(rest, text[end:], {**values, name: text[:end]})


def _list_ends(rest: Parts, text: str) -> list[int]:
    """Return the places at which the value of a placeholder may end, the last one first. rest: the parts behind it."""
    if all(name is None for _, name in rest):
        # Without another placeholder, all text that follows is known.
        ending = "".join(literal for literal, _ in rest)
        return [len(text) - len(ending)] if text.endswith(ending) else []
    following, _ = rest[0]
    return [end for end in range(len(text), -1, -1) if text.startswith(following, end)]


@cache
def parse_template(text: str) -> Template:
    """Return the parsed template of a record's key."""
    return Template(text)


def write_text(value: Any) -> str:
    """Return a field's value as a part of a key."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        # -0.0 is equal to 0.0 in SQL, so both have one text.
        return str(value + 0.0)
    return "" if value is None else str(value)


def read_score(value: Any) -> float:
    """Return a field's value as a score: a number, or a time in seconds since 1970."""
    if isinstance(value, (int, float)):
        # An integer remains one, and so its text in feeds and addresses. True becomes 1, and -0.0 becomes 0.0.
        return value + 0
    try:
        return float(value) + 0.0
    except ValueError:
        moment = datetime.fromisoformat(value)
        epoch = datetime(1970, 1, 1, tzinfo=moment.tzinfo)
        return (moment - epoch).total_seconds()


class SqlMembers(NamedTuple):
    """What SQL has in place of a structure: a query with one row for each member.

    member: the column or annotation with the member. score: that with its score, for a ``Ranking``. text: that with
    its name, for an ``Alphabetical`` index.
    """

    rows: "QuerySet[Any, Any]"
    member: str = "pk"
    score: str = ""
    text: str = ""


@dataclass(frozen=True)
class Index:
    """A structure of which ``key`` is the template. over: the field of which each value has a structure of its own.

    when: a field, or a function of the record; rows for which it is false contribute nothing. buckets: the number of
    keys that each structure is divided into (``mirror.declare.buckets``). sql: returns the members in SQL, given the
    values of the key's placeholders; for readers of an index that SQL cannot derive from ``fields``. owner: a template
    of the row's key with placeholders of ``key`` and ``{member}``, for entries that a method of the declaration
    computes, if the member is not the row's key.
    """

    key: str
    over: str = ""
    when: str | Callable[[Record], object] = ""
    buckets: int = field(default=1, kw_only=True)
    sql: Callable[[Mapping[str, str]], SqlMembers] | None = field(default=None, kw_only=True)
    owner: str = field(default="", kw_only=True)
    kind: ClassVar[Literal["set", "zset", "string"]]
    has_buckets: ClassVar[bool] = False  # whether readers merge the buckets of this kind of index

    @cached_property
    def template(self) -> Template:
        """Return the parsed key."""
        return Template(self.key)

    @property
    def when_field(self) -> str:
        """Return the field ``when``, or "" for none and for a function."""
        return self.when if isinstance(self.when, str) else ""

    @property
    def score_field(self) -> str:
        """Return the field with the scores, or ""."""
        return ""

    @property
    def form(self) -> tuple[Any, ...]:
        """Return what is equal for all indexes with one key: each entry says which row it is of, and has one score."""
        return (type(self), self.buckets)

    @property
    def can_divide(self) -> bool:
        """Whether the index may have buckets."""
        return self.has_buckets and can_divide(self.template.start, not self.template.names)

    def describe(self) -> str:
        """Return the declaration as text that is equal in all processes. A function is described by its name."""
        # Versions of mirrors contain this text. Another one would rebuild the mirrors of all sites.
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        # Neither determines the entries.
        del parts["sql"], parts["owner"]
        if self.buckets == 1:
            del parts["buckets"]
        if callable(self.when):
            parts["when"] = getattr(self.when, "__qualname__", type(self.when).__qualname__)
        return f"{type(self).__name__} {parts}"

    @property
    def placeholder_fields(self) -> set[str]:
        """Return the fields of the record that the key names as placeholders."""
        # A field may be called "value" as well, which no key can name.
        return set(self.template.names) - {"pk", "value"}

    @property
    def key_fields(self) -> set[str]:
        """Return the fields of the record that determine to which structures a row contributes."""
        found = self.placeholder_fields
        if self.over:
            found.add(self.over)
        if self.when_field:
            found.add(self.when_field)
        return found

    def find_fields(self) -> set[str]:
        """Return the fields of the record that the entries are made of."""
        return self.key_fields

    def check_types(self) -> None:
        """Raise DeclarationError for an argument of the wrong type."""
        for name in ("key", "over", "member", "by", "owner"):
            if not isinstance(getattr(self, name, ""), str):
                raise DeclarationError(f"{self!r}: {name}= must be text")
        if type(self.buckets) is not int:
            raise DeclarationError(f"{self!r}: buckets= must be an integer")
        if not isinstance(self.when, str) and not callable(self.when):
            raise DeclarationError(
                f"{self!r}: when= must be the name of a field or a function of the record (a Q belongs into where= of "
                "the mirror)"
            )
        if self.sql is not None and not callable(self.sql):
            raise DeclarationError(f"{self!r}: sql= must be a function that returns mirror.SqlMembers")

    def check(self) -> None:
        """Raise DeclarationError if a key does not say which row contributed an entry."""
        names = set(self.template.names)
        if self.over:
            if names.isdisjoint({"value", self.over, "pk"}):
                raise DeclarationError(
                    f'{self!r}: the key needs "{{value}}"; all values of {self.over!r} would share it'
                )
        elif "value" in names:
            raise DeclarationError(f'{self!r}: "{{value}}" needs over=')
        if self.buckets < 1:
            raise DeclarationError(f"{self!r}: buckets= must be at least 1")
        if self.buckets > 1 and not self.can_divide:
            raise DeclarationError(
                f"{self!r}: only a Ranking or a SetOf has buckets=, whose key begins with a hash tag"
            )

    def compile(self) -> Callable[[str, Record], Iterable[Contribution]]:
        """Return a function from a row's key and record to its entries."""
        # Called for each row of a drain, so all that is the same for all rows is looked up here.
        fill = self.template.fill
        over = self.over
        when = self._compile_when()
        build = self.build_entries if self.buckets == 1 else self._build_in_bucket

        def list_entries(pk: str, record: Record) -> Iterable[Contribution]:
            if when and not when(record):
                return ()
            if not over:
                return build(pk, [fill(pk, None, record)], record)
            found = record[over]
            values = dict.fromkeys(found) if isinstance(found, list) else [found]
            keys = [fill(pk, value, record) for value in values if value is not None and value != ""]
            return build(pk, keys, record)

        return list_entries

    def _compile_when(self) -> Callable[[Record], object] | None:
        """Return a function that tells whether a row with this record contributes, or None if all rows do."""
        if callable(self.when):
            return self.when
        if self.when:
            return itemgetter(self.when)
        return None

    def _build_in_bucket(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        return self.build_entries(pk, [find_bucket_key(key, pk, self.buckets) for key in keys], record)

    def build_entries(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        """Return a row's entries under these keys."""
        raise NotImplementedError

    def find_owner(self, key: str, member: str) -> str:
        """Return the key of the row that would contribute ``member``."""
        if not self.owner:
            return self.find_pk(key, member)
        values = self.template.match(key) or {}
        return self.owner_template.fill("", None, {**values, "member": member})

    @cached_property
    def owner_template(self) -> Template:
        """Return the parsed ``owner``."""
        return Template(self.owner)

    def find_pk(self, key: str, member: str) -> str:
        """Return the primary key in a member."""
        return member


@dataclass(frozen=True)
class SetOf(Index):
    """Sets of primary keys: of all rows, or of the rows with each value of ``over``.

    member: a template of the members, if they are more than the primary key: ``"{name}\\0{pk}"``.
    """

    member: str = "{pk}"
    kind = "set"
    has_buckets = True

    @cached_property
    def member_template(self) -> Template:
        """Return the parsed member."""
        return Template(self.member)

    @property
    def form(self) -> tuple[Any, ...]:
        return (*super().form, self.member)

    def check(self) -> None:
        super().check()
        template = self.member_template
        if "pk" not in template.names:
            raise DeclarationError(f'{self!r}: member= needs "{{pk}}", because rows may have equal members otherwise')
        if len(template.names) == 1:
            return
        if not _ends_with_key(template):
            raise DeclarationError(
                f'{self!r}: member= has to end with "\\0{{pk}}", because a value may contain any other separator'
            )

    def find_fields(self) -> set[str]:
        return super().find_fields() | set(self.member_template.names) - {"pk"}

    def build_entries(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        # In a member, "value" is the field of this name.
        member = self.member_template.fill(pk, record.get("value"), record)
        if len(keys) > 1:
            # One entry for all sets, which is as cheap as one for a single set
            return [Members(keys, member)]
        return [Member(key, member) for key in keys]

    def find_pk(self, key: str, member: str) -> str:
        if len(self.member_template.names) > 1:
            return member.rpartition(SEPARATOR)[2]
        values = self.member_template.match(member)
        # A stray may have any form.
        return values["pk"] if values else member


def _ends_with_key(template: Template) -> bool:
    """Return whether a template ends with the primary key behind a zero byte."""
    if template.names.count("pk") > 1:
        return False
    literal, name = template.parts[-1]
    return name == "pk" and literal.endswith(SEPARATOR)


@dataclass(frozen=True)
class Ranking(Index):
    """Sorted sets of primary keys by ``score``: a field with a number, a date or a time. None contributes nothing.

    A number instead of a field is the score of all rows.
    """

    score: str | float = ""
    kind = "zset"
    has_buckets = True

    @property
    def score_field(self) -> str:
        return self.score if isinstance(self.score, str) else ""

    @property
    def form(self) -> tuple[Any, ...]:
        return (*super().form, self.score)

    def check(self) -> None:
        super().check()
        if self.score == "":
            raise DeclarationError(f"{self!r} needs score=")
        if not isinstance(self.score, (str, int, float)) or self.score != self.score:
            raise DeclarationError(f"{self!r}: score= is the name of a field, or a number")

    def find_fields(self) -> set[str]:
        found = super().find_fields()
        if self.score_field:
            found.add(self.score_field)
        return found

    def build_entries(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        score = record[self.score] if isinstance(self.score, str) else self.score
        if score is None:
            return []
        number = read_score(score)
        return [Scored(key, pk, number) for key in keys]


@dataclass(frozen=True)
class Alphabetical(Index):
    """Sorted sets of the text of the field ``by``, followed by a zero byte and the primary key; ranges by prefix."""

    by: str = ""
    kind = "zset"

    def check(self) -> None:
        super().check()
        if not self.by:
            raise DeclarationError(f"{self!r} needs by=")

    def find_fields(self) -> set[str]:
        return super().find_fields() | {self.by}

    def build_entries(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        member = f"{write_text(record[self.by])}{SEPARATOR}{pk}"
        return [Scored(key, member, 0) for key in keys]

    def find_pk(self, key: str, member: str) -> str:
        return member.rpartition(SEPARATOR)[2]


@dataclass(frozen=True)
class Lookup(Index):
    """Strings from a value of the field ``on`` to the primary key of the row that has it. The values must be unique.

    key: a template with ``{value}``: ``"isbn:{value}"``. when: a field or a function of the record, which is false for
    rows to leave out.
    """

    kind = "string"

    def __init__(
        self,
        key: str,
        on: str,
        when: str | Callable[[Record], object] = "",
        *,
        sql: Callable[[Mapping[str, str]], SqlMembers] | None = None,
    ) -> None:
        super().__init__(key, on, when, sql=sql)

    def build_entries(self, pk: str, keys: list[str], record: Record) -> Iterable[Contribution]:
        return [Value(key, pk) for key in keys]
