"""Answer questions: from Redis in one round trip, or from SQL."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mirror import registry
from mirror.declare import values
from mirror.declare.mirrors import Mirror
from mirror.declare.questions import AskSql, Outcome, Question, slot
from mirror.kinds import Kind, kind_of
from mirror.read import prefetch
from mirror.read.prefetch import Asked, Reading
from mirror.read.reads import read
from mirror.read.replica import ask_sql
from mirror.redis.types import RedisPipeline
from mirror.relay import sql_only
from mirror.utils.counters import count_fallback


class Answers:
    """The engine of the readers (``mirror.declare.questions.Engine``)."""

    def answer_all(self, questions: Sequence[Question[Any]]) -> list[Outcome]:
        """Return the outcomes of questions. SQL answers those of mirrors that are cold, behind or in doubt."""
        if len(questions) == 1:
            # The usual case, which needs no groups.
            (question,) = questions
            reading = read(question.mirrors, question.ask)
            return [_answer_question(question, reading)]
        groups = [Asked.of(question.mirrors, question.ask) for question in questions]
        readings = _read_all(groups)
        return list(map(_answer_question, questions, readings))

    def answer_known(self, questions: Sequence[Question[Any]]) -> list[Outcome] | None:
        """Return the outcomes of questions, or None if not all of their replies were read ahead."""
        foreseen = prefetch.present()
        if foreseen is None:
            return None
        groups = [Asked.of(question.mirrors, question.ask) for question in questions]
        if not all(map(foreseen.covers, groups)):
            return None
        readings = [prefetch.look_up(group) for group in groups]
        # The request may have written since.
        return None if None in readings else list(map(_answer_question, questions, readings))

    def get_mirror(self, declaration: type[Any]) -> Mirror:
        """Return the registered mirror of a declaration. Raises LookupError if it is not, and says why."""
        if not registry.is_registered(declaration):
            fault = dict(registry.refused()).get(declaration, "is not registered: decorate it with @mirror.register")
            raise registry.UnknownMirror(f"{declaration.__qualname__} {fault}")
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

        def ask(pipe: RedisPipeline) -> None:
            for command in kind.ask(pks):
                pipe.execute_command(*command)

        def decode(replies: Sequence[Any]) -> dict[str, Any]:
            return build(kind.read_states(pks, replies))

        def load() -> dict[str, Any]:
            # A caller may ask for any text, and SQL refuses one that cannot be a key.
            possible = [pk for pk in pks if mirror.is_possible(pk)]
            found = _load_states(mirror, kind, possible)
            return build(list(map(found.get, pks)))

        return Question([mirror.name], ask, decode, load)


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


def _read_all(groups: Sequence[Asked]) -> list[Reading | None]:
    """Return what each read found, or None where SQL has to answer."""
    found = [prefetch.look_up(group) for group in groups]
    sent: list[int] = []
    for number, group in enumerate(groups):
        if found[number] is not None:
            continue
        if sql_only.wanted(group.mirrors):
            count_fallback(group.mirrors, "own_write")
        else:
            sent.append(number)
    if not sent:
        return found
    # No read is required, so that a cold mirror leaves the others to Redis.
    fetched = prefetch.fetch(prefetch.NOTHING, [groups[number] for number in sent])
    if fetched is None:
        return found
    readings = fetched.readings[1:]  # without that of the required one
    for number, reading in zip(sent, readings, strict=True):
        found[number] = reading
        if reading is None:
            count_fallback(groups[number].mirrors, "cold")
    return found


def _answer_question(question: Question[Any], reading: Reading | None) -> Outcome:
    """Return the answer in the replies of Redis, or that of SQL. An error is raised where the function asks."""
    try:
        if reading is not None:
            with suppress(AskSql):
                return Outcome(question.decode(reading.replies))
        return Outcome(ask_sql(question.mirrors, question.load))
    except Exception as error:
        return Outcome(None, error)


def register() -> None:
    """Let the readers of declarations find their answers here."""
    slot.engine = Answers()
