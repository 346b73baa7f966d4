"""An unreliable payment provider in memory, for the state machine that tests the ledger.

It guarantees one thing: a key is charged at most once, a key that was given up is never charged, and a refund is made
at most once.
"""

from collections.abc import Callable

from shop.payments import Answer, Means, NoAnswer, Outcome
from tests.support.killed import Killed

Hook = Callable[[], None]


class UnreliableProvider:
    """An in-memory provider.

    known: the outcome of each key. pages: keys whose page is open, so that the buyer can pay or the shop can close it.
    callbacks: all that were sent, which may arrive again and in any order. on_their_way: amounts of delayed charges.
    refunds: the key of the charge and the amount, by key of the refund.
    mood: the effect of the next charge. is_down: the provider does not answer.
    """

    def __init__(self) -> None:
        self.known: dict[str, Outcome] = {}
        self.amounts: dict[str, int] = {}
        self.on_their_way: dict[str, int] = {}
        self.pages: set[str] = set()
        self.callbacks: list[tuple[str, Outcome]] = []
        self.refunds: dict[str, tuple[str, int]] = {}
        self.mood = "good"
        self.is_down = False

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        """Charge as ``mood`` says. Raises NoAnswer or Killed in the moods that lose the answer or the process."""
        outcome = {"good": Outcome.SUCCEEDED, "refused": Outcome.FAILED}.get(self.mood, Outcome.SUCCEEDED)
        match self.mood:
            case "good" | "refused":
                self.take(key, amount, outcome)
            case "late":
                self.take(key, amount, Outcome.PENDING)
            case "page" | "page, no answer":
                self.take(key, amount, Outcome.PENDING)
                self.pages.add(key)
                if self.mood != "page":
                    raise NoAnswer
            case "taken, no answer":
                self.take(key, amount, outcome)
                raise NoAnswer
            case "on its way":
                self.on_their_way[key] = amount
                raise NoAnswer
            case "lost":
                raise NoAnswer
            case "crash before":
                raise Killed
            case "crash after":
                self.take(key, amount, outcome)
                raise Killed
        return self.report(key)

    def report(self, key: str) -> Answer:
        """Return the outcome as it is now. It is sent as a callback as well."""
        outcome = self.known[key]
        self.callbacks.append((key, outcome))
        return Answer(outcome, key[:8], page=f"/{key}" if self.has_page(key) else "")

    def has_page(self, key: str) -> bool:
        """Return whether the buyer can still pay on the page."""
        return key in self.pages and self.known[key] is Outcome.PENDING

    def take(self, key: str, amount: int, outcome: Outcome) -> None:
        """Record the outcome, unless the key already has one."""
        if key not in self.known:
            self.known[key], self.amounts[key] = outcome, amount

    def arrive(self, key: str) -> None:
        """Deliver a delayed charge."""
        self.take(key, self.on_their_way.pop(key), Outcome.SUCCEEDED)

    def find_charge(self, key: str) -> Answer | None:
        self._must_be_up()
        return self.report(key) if key in self.known else None

    def forbid_charge(self, key: str) -> Answer:
        self._must_be_up()
        self.take(key, 0, Outcome.FAILED)
        if self.has_page(key):
            self.known[key] = Outcome.FAILED
        return self.report(key)

    def refund(self, key: str, refund: str, amount: int) -> None:
        assert self.known[key] is Outcome.SUCCEEDED
        if self.is_down and self.mood == "good":
            raise NoAnswer
        assert self.refunds.setdefault(refund, (key, amount)) == (key, amount)
        assert self.held[key] >= 0
        self._must_be_up()

    def _must_be_up(self) -> None:
        if self.is_down:
            raise NoAnswer

    @property
    def held(self) -> dict[str, int]:
        """The amounts taken without the refunded ones, in cents, by key."""
        held = {key: self.amounts[key] for key, outcome in self.known.items() if outcome is Outcome.SUCCEEDED}
        for key, amount in self.refunds.values():
            held[key] -= amount
        return held
