"""Windows of every kind, and the edges on which a lazy window depends."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import Q, QuerySet

from mirror import After, EdgeMirror, Entry, Family, Member, Reached, Watch, WindowMirror, register
from tests.projects.mirrortest.models import Ignoring, Note, Reading, Writer

FEED, OF_WRITER, OF_TOPIC, OF_ALL = 6, 4, 3, 8  # number of notes in a window


def shown() -> QuerySet[Note]:
    """Return the visible notes."""
    return Note.objects.filter(hidden=False, writer__active=True)


def feed_of(reader: int) -> QuerySet[Note]:
    """Return the notes of a reader's feed: their own, and those of the writers they read and do not ignore."""
    read = Reading.objects.filter(reader=reader).values("writer")
    ignored = Ignoring.objects.filter(reader=reader).values("writer")
    return shown().filter(Q(writer=reader) | Q(writer__in=read) & ~Q(writer__in=ignored))


def newest(notes: QuerySet[Note], limit: int) -> list[int]:
    """Return the ids of the newest notes, newest first."""
    return list(notes.order_by("-pk").values_list("pk", flat=True)[:limit])


def below_id(notes: QuerySet[Note], below: int | None, limit: int) -> list[int]:
    """Return the ids of the newest notes below an id, newest first."""
    return newest(notes if below is None else notes.filter(pk__lt=below), limit)


def numbers(pks: Sequence[str]) -> list[str]:
    """Return the keys that can be a writer's primary key."""
    return [pk for pk in pks if pk.isdecimal()]


class _Edge(EdgeMirror):
    """``twriter:{reader}:<what>`` has the writer."""

    what: ClassVar[str]

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        wanted, readers = set(pks), {pk.partition(":")[0] for pk in pks}
        found = self.model._base_manager.filter(reader__in=readers).values_list("reader", "writer")
        return {edge: True for a, b in found if (edge := f"{a}:{b}") in wanted}

    def entries(self, pk: str) -> Iterable[Entry]:
        reader, writer = pk.split(":")
        yield Member(f"twriter:{{{reader}}}:{self.what}", writer)

    def families(self) -> Sequence[Family]:
        end = f"}}:{self.what}"
        return [Family("twriter:{", "set", lambda name, member: f"{_owner(name)}:{member}", end=end)]


@register
class ReadingEdge(_Edge):
    """The writers that a reader reads."""

    name = "treading"
    model = Reading
    what = "reads"
    watches = [Watch(Reading, ("reader_id", "writer_id"))]


@register
class IgnoringEdge(_Edge):
    """The writers that a reader ignores."""

    name = "tignoring"
    model = Ignoring
    what = "ignores"
    watches = [Watch(Ignoring, ("reader_id", "writer_id"))]


def _owner(name: str) -> str:
    return name[name.index("{") + 1 : name.index("}")]


@register
class NotesOfWriter(WindowMirror):
    """``twriter:{<id>}:notes``: a writer's newest notes."""

    name = "tnotes"
    model = Writer
    length = OF_WRITER
    watches = [Watch(Note, "writer_id", only=("hidden",)), Watch(Writer, only=("active",))]

    def record_key(self, pk: str) -> str:
        return f"twriter:{{{pk}}}:notes"

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {pk: newest(shown().filter(writer=int(pk)), limit) for pk in numbers(pks)}

    def find_below(self, owner: str, below: int | None, limit: int) -> list[int]:
        return below_id(shown().filter(writer=int(owner)), below, limit)

    def families(self) -> Sequence[Family]:
        return [Family("twriter:{", "zset", lambda name, member: _owner(name), end="}:notes")]


@register
class NotesOfTopic(WindowMirror):
    """``{ttopic}:<topic>``: the newest notes on a topic."""

    name = "ttopic"
    model = Note
    length = OF_TOPIC
    watches = [
        Watch(Note, "topic", only=("hidden",)),
        Watch(Writer, via=lambda values, after, limit: _topics(Q(writer__in=values), after, limit), only=("active",)),
    ]

    def record_key(self, pk: str) -> str:
        return "{ttopic}:" + pk

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {pk: newest(shown().filter(topic=pk), limit) for pk in pks}

    def families(self) -> Sequence[Family]:
        return [Family("{ttopic}:", "zset", lambda name, member: name.removeprefix("{ttopic}:"))]

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return _topics(Q(), after, limit)


def _topics(condition: Q, after: str | None, limit: int) -> list[str]:
    notes = Note.objects.filter(condition)
    if after is not None:
        notes = notes.filter(topic__gt=after)
    return list(notes.order_by("topic").values_list("topic", flat=True).distinct()[:limit])


@register
class NewestNotes(WindowMirror):
    """``tnotes:newest``: the newest notes of all writers."""

    name = "tnewest"
    model = Note
    length = OF_ALL
    watches = [
        Watch(Note, whole=True, only=("hidden",)),
        Watch(Writer, whole=True, only=("active",), inserts=False),
    ]

    def record_key(self, pk: str) -> str:
        return "tnotes:newest"

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {"": newest(shown(), limit)}

    def families(self) -> Sequence[Family]:
        return [Family("tnotes:newest", "zset", lambda name, member: "", whole=True)]

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return [""] if after is None else []


@register
class FeedWindow(WindowMirror):
    """``twriter:{<id>}:feed``: a reader's feed, which exists while it is read. Notes are pushed into it."""

    name = "tfeed"
    model = Writer
    length = FEED
    lazy = True
    life_seconds = 3600
    watches = [
        Watch(Note, ("id", "writer_id"), pushed=True, only=("hidden",)),
        Watch(Writer, only=("active",)),
        Watch(Writer, via=lambda values, after, limit: _readers(values, after, limit), only=("active",), inserts=False),
    ]
    after: ClassVar[Sequence[After]] = (
        After("treading", lambda edge: edge.partition(":")[0]),
        After("tignoring", lambda edge: edge.partition(":")[0]),
    )

    def record_key(self, pk: str) -> str:
        return f"twriter:{{{pk}}}:feed"

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {pk: newest(feed_of(int(pk)), limit) for pk in numbers(pks)}

    def find_below(self, owner: str, below: int | None, limit: int) -> list[int]:
        return below_id(feed_of(int(owner)), below, limit)

    def families(self) -> Sequence[Family]:
        return [Family("twriter:{", "zset", lambda name, member: _owner(name), end="}:feed")]

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        notes = [tuple(map(int, row.split(":"))) for row in rows]
        there = set(shown().filter(pk__in=[pk for pk, _ in notes]).values_list("pk", "writer_id"))
        found = [Reached(str(w), pk, "", (pk, w) in there) for pk, w in notes] if after is None else []
        readings = Reading.objects.filter(writer__in=[writer for _, writer in notes])
        if after is not None:
            readings = readings.filter(reader__gt=int(after))
        for reader, writer in readings.order_by("reader", "writer").values_list("reader", "writer")[:limit]:
            reached = [(pk, w) for pk, w in notes if w == writer]
            found += [Reached(str(reader), pk, str(w), (pk, w) in there) for pk, w in reached]
        return found

    def sources(self, owner: str) -> tuple[str, str]:
        return f"twriter:{{{owner}}}:reads", f"twriter:{{{owner}}}:ignores"


def _readers(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    readings = Reading.objects.filter(writer__in=map(int, values))
    if after is not None:
        readings = readings.filter(reader__gt=int(after))
    return list(map(str, readings.order_by("reader").values_list("reader", flat=True).distinct()[:limit]))
