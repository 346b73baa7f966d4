"""A payment provider as the worst of them are, without a network: for the machine that plays with the ledger.

It keeps its word in one thing only: a key is charged once, and one that was given up is never charged.
"""

from collections.abc import Callable

from shop.payments import Answer, Card, NoAnswer, Outcome

Hook = Callable[[], None]


class Crash(BaseException):
    """The process is gone: nothing that catches errors may catch this."""


class Remote:
    """known: outcome by key. Held back: charges that are still on their way. refunded: keys.

    mood: what the next charge does. is_down: nobody answers.
    """

    def __init__(self) -> None:
        self.known: dict[str, Outcome] = {}
        self.amounts: dict[str, int] = {}
        self.on_their_way: dict[str, int] = {}
        self.refunded: set[str] = set()
        self.mood = "good"
        self.is_down = False

    def charge(self, key: str, amount: int, card: Card) -> Answer:
        """As the mood is."""
        outcome = {"good": Outcome.SUCCEEDED, "refused": Outcome.FAILED}.get(self.mood, Outcome.SUCCEEDED)
        match self.mood:
            case "good" | "refused":
                self.take(key, amount, outcome)
            case "late":
                self.take(key, amount, Outcome.PENDING)
            case "taken, no answer":
                self.take(key, amount, outcome)
                raise NoAnswer
            case "on its way":
                self.on_their_way[key] = amount
                raise NoAnswer
            case "lost":
                raise NoAnswer
            case "crash before":
                raise Crash
            case "crash after":
                self.take(key, amount, outcome)
                raise Crash
        return Answer(self.known[key], key[:8])

    def take(self, key: str, amount: int, outcome: Outcome) -> None:
        """Write it down, unless the key is known."""
        if key not in self.known:
            self.known[key], self.amounts[key] = outcome, amount

    def arrive(self, key: str) -> None:
        """What was on its way is there."""
        self.take(key, self.on_their_way.pop(key), Outcome.SUCCEEDED)

    def find(self, key: str) -> Answer | None:
        self._must_be_up()
        return Answer(self.known[key], key[:8]) if key in self.known else None

    def give_up(self, key: str) -> Answer:
        self._must_be_up()
        self.take(key, 0, Outcome.FAILED)
        return Answer(self.known[key], key[:8])

    def refund(self, key: str) -> None:
        assert self.known[key] is Outcome.SUCCEEDED
        if self.is_down and self.mood == "good":
            raise NoAnswer
        self.refunded.add(key)
        self._must_be_up()

    def _must_be_up(self) -> None:
        if self.is_down:
            raise NoAnswer

    @property
    def held(self) -> dict[str, int]:
        """What it has taken and not given back, by key, in cents."""
        taken = {key for key, outcome in self.known.items() if outcome is Outcome.SUCCEEDED}
        return {key: self.amounts[key] for key in taken - self.refunded}
