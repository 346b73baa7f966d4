"""Questions: reads of mirrored data that Redis answers, or SQL in its place, alone or several in one round trip.

>>> with together() as reads:
...     book = reads(BookMirror.get, 7)
...     posts = reads(list_posts, 7, limit=20)  # any function of readers: here ids, then records
>>> return book.value, posts.value  # two round trips, the first of both functions together

A function in ``together`` runs until its first question. The questions of all functions are asked in one round trip,
and the functions run again with the answers, until none has a further question. So they must have no other effects.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from mirror.declare.mirrors import Mirror
    from mirror.redis.types import RedisPipeline

T = TypeVar("T")
P = ParamSpec("P")


class AskSql(Exception):
    """Raised by ``Question.decode`` if only SQL can answer: Redis lacks a part of the answer."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """A read of mirrored data.

    mirrors: the names of those that must be warm. ask: adds the commands to a pipeline. decode: returns the answer
    from their replies, or raises AskSql. load: returns the same answer from SQL.
    """

    mirrors: Sequence[str]
    ask: Callable[["RedisPipeline"], object]
    decode: Callable[[list[Any]], T]
    load: Callable[[], T]


class Outcome(NamedTuple):
    """The answer to a question, or the error that it raised."""

    value: Any
    error: Exception | None = None

    def get(self) -> Any:
        """Return the answer, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


class Engine(Protocol):
    """What readers need of the layers above declarations. ``mirror.read.answers`` registers itself in ``slot``."""

    def answer_all(self, questions: Sequence[Question[Any]]) -> list[Outcome]:
        """Return the outcomes of questions, in one round trip."""

    def get_mirror(self, declaration: type[Any]) -> "Mirror":
        """Return the registered mirror of a declaration. Raises LookupError if it is not registered."""

    def ask_for_records(self, mirror: "Mirror", pks: Sequence[str]) -> Question[dict[str, Any]]:
        """Return the question for the records of these rows: by key, without rows that have none."""


class _Slot:
    engine: Engine


slot = _Slot()


def answer(question: Question[T]) -> T:
    """Return the answer, in one round trip. Within ``together`` the question waits for those of other functions."""
    value: T = answer_all([question])[0].get()
    return value


def answer_all(questions: Sequence[Question[Any]]) -> list[Outcome]:
    """Return the outcomes of several questions, in one round trip."""
    replay = _replay.get()
    if replay is None:
        return slot.engine.answer_all(questions)
    return replay.take(questions)


class _Waiting(BaseException):
    """Stops a function at its next questions. No ``except Exception`` of the function may catch it."""

    def __init__(self, questions: Sequence[Question[Any]]) -> None:
        self.questions = questions


class _Replay:
    """The answers to the questions that a function asked in its earlier runs, in their order."""

    def __init__(self) -> None:
        # The mirrors of the questions, and the answers
        self.known: list[tuple[list[Sequence[str]], list[Outcome]]] = []
        self.position = 0

    def take(self, questions: Sequence[Question[Any]]) -> list[Outcome]:
        """Return the known answers to the next questions, or stop the function."""
        if self.position == len(self.known):
            raise _Waiting(questions)
        mirrors, outcomes = self.known[self.position]
        # Answers are found by their order alone, so another order would mix them up.
        if mirrors != [question.mirrors for question in questions]:
            raise RuntimeError("a function in together() asked other questions when it ran again")
        self.position += 1
        return outcomes


_replay: ContextVar[_Replay | None] = ContextVar("replay", default=None)


class Pending(Generic[T]):
    """The result of a function in ``together``, which the end of the block supplies."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._replay = _Replay()
        self._result: T | None = None
        self._is_complete = False

    @property
    def value(self) -> T:
        """Return the result. Raises RuntimeError before the end of the block."""
        if not self._is_complete:
            raise RuntimeError("the result of a function in together() is known after its block")
        return self._result  # type: ignore[return-value]

    def run(self) -> Sequence[Question[Any]]:
        """Run the function with the known answers. Return its next questions; none if it has returned."""
        # The function begins again, and gets the known answers in their order.
        self._replay.position = 0
        token = _replay.set(self._replay)
        try:
            self._result = self._function()
        except _Waiting as waiting:
            return waiting.questions
        finally:
            _replay.reset(token)
        self._is_complete = True
        return ()

    def learn(self, questions: Sequence[Question[Any]], outcomes: list[Outcome]) -> None:
        """Store the answers to the questions that ``run`` returned."""
        self._replay.known.append(([question.mirrors for question in questions], outcomes))


class Reads:
    """The functions of one ``together``."""

    def __init__(self) -> None:
        self._calls: list[Pending[Any]] = []

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        """Add a call. Its result is in ``value`` after the block."""
        call = Pending(partial(function, *args, **kwargs))
        self._calls.append(call)
        return call

    def run(self) -> None:
        """Run all functions to their ends, with one round trip for the questions that they have at the same time."""
        waiting = self._calls
        while waiting:
            waiting = _run_calls(waiting)


def _run_calls(calls: Sequence[Pending[Any]]) -> list[Pending[Any]]:
    """Run each call to its next questions, and answer these together. Return the calls that had any."""
    waiting: list[Pending[Any]] = []
    asked: list[Sequence[Question[Any]]] = []
    questions_of_all: list[Question[Any]] = []
    # All calls first, so that their questions share the round trip
    for call in calls:
        questions = call.run()
        if questions:
            waiting.append(call)
            asked.append(questions)
            questions_of_all += questions
    if not waiting:
        return waiting
    outcomes = iter(answer_all(questions_of_all))
    for call, questions in zip(waiting, asked, strict=True):
        call.learn(questions, list(islice(outcomes, len(questions))))
    return waiting


@contextmanager
def together() -> Generator[Reads, None, None]:
    """Ask the questions of several readers in one round trip, which the end of the block makes.

    Raises there what the first function raises. If Redis cannot answer a question, SQL answers that one.
    """
    reads = Reads()
    yield reads
    reads.run()
