"""Answer questions: from Redis in one round trip, or from SQL."""

from collections.abc import Sequence
from typing import Any

from mirror import registry
from mirror.declare import values
from mirror.declare.mirrors import Mirror
from mirror.declare.questions import AskSql, Outcome, Question, slot
from mirror.kinds import Kind, kind_of
from mirror.read import prefetch
from mirror.read.prefetch import Asked
from mirror.read.reads import read
from mirror.read.replica import ask_sql
from mirror.relay import sql_only
from mirror.utils.counters import count_fallback


class Answers:
    """The engine of the readers (``mirror.declare.questions.Engine``)."""

    def answer_all(self, questions: Sequence[Question[Any]]) -> list[Outcome]:
        """Return the outcomes of questions. SQL answers those of mirrors that are cold, behind or in doubt."""
        if len(questions) == 1:
            reading = read(questions[0].mirrors, questions[0].ask)
            return [_decide(questions[0], reading and reading.replies)]
        groups = [Asked.of(question.mirrors, question.ask) for question in questions]
        return [_decide(question, replies) for question, replies in zip(questions, _read_all(groups), strict=True)]

    def get_mirror(self, declaration: type[Any]) -> Mirror:
        """Return the registered mirror of a declaration. Raises LookupError if it is not registered."""
        if not registry.is_registered(declaration):
            raise registry.UnknownMirror(
                f"{declaration.__qualname__} is not registered: decorate it with @mirror.register"
            )
        return registry.get(declaration.name)

    def ask_for_records(self, mirror: Mirror, pks: Sequence[str]) -> Question[dict[str, Any]]:
        """Return the question for the records of these rows: by key, without rows that have none."""
        kind = kind_of(mirror)
        make = type(mirror).record_class or kind.decode

        def build(states: Sequence[Any]) -> dict[str, Any]:
            records: dict[str, Any] = {}
            for pk, state in zip(pks, states, strict=True):
                record = None if state is None else make(state)
                if record is not None:
                    records[pk] = record
            return records

        def load() -> dict[str, Any]:
            found = _load_states(mirror, kind, [pk for pk in pks if mirror.is_possible(pk)])
            return build([found.get(pk) for pk in pks])

        return Question(
            [mirror.name],
            lambda pipe: [pipe.execute_command(*command) for command in kind.ask(pks)],
            lambda replies: build(kind.read_states(pks, replies)),
            load,
        )


def _load_states(mirror: Mirror, kind: Kind, pks: Sequence[str]) -> dict[str, Any]:
    """Return the values of the rows' own keys as SQL has them, or the read replica if it was asked.

    Their entries are left out: a row is quarantined if one of them cannot be made (the score NaN), and is read here.
    """
    states = {}
    for pk, row in mirror.load(pks).items():
        record = mirror.record(row)
        try:
            states[pk] = kind.encode(record)
        except (AttributeError, TypeError) as error:
            raise values.explain_record(mirror.name, pk, record, error) from error
    return states


def _read_all(groups: Sequence[Asked]) -> list[list[Any] | None]:
    """Return the replies to each read, or None where SQL has to answer."""
    found = [prefetch.look_up(group) for group in groups]
    sent: list[int] = []
    for number, group in enumerate(groups):
        if found[number] is not None:
            continue
        if sql_only.wanted(group.mirrors):
            count_fallback(group.mirrors, "own_write")
        else:
            sent.append(number)
    if sent:
        fetched = prefetch.fetch(prefetch.NOTHING, [groups[number] for number in sent])
        # The first reading is the required one, which asks nothing.
        readings = fetched.readings[1:] if fetched else [None] * len(sent)
        for number, reading in zip(sent, readings, strict=True):
            found[number] = reading
            if fetched and reading is None:
                count_fallback(groups[number].mirrors, "cold")
    return [reading and reading.replies for reading in found]


def _decide(question: Question[Any], replies: list[Any] | None) -> Outcome:
    try:
        if replies is not None:
            try:
                return Outcome(question.decode(replies))
            except AskSql:
                pass
        return Outcome(ask_sql(question.mirrors, question.load))
    except Exception as error:  # raised where the function asks
        return Outcome(None, error)


def register() -> None:
    """Let the readers of declarations find their answers here."""
    slot.engine = Answers()
