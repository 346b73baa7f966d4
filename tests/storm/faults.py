"""The script of faults: a seed determines their order, their servers and their lengths."""

import random
import time
from contextlib import ExitStack
from typing import NamedTuple

from tests.storm.ledger import SQL, Calendar
from tests.storm.stack import REDIS_NAMES, Stack

LOSSES = ("empty", "roll back")
PROCESSES = ("web", "relay", "fanout", "worker", "beat")
LENGTH_SECONDS = (1.0, 2.5)
# Two time-outs of workers and more: a hang of the state loses hints, and Redis later executes what they sent.
HANG_SECONDS = (11.0, 13.0)
SHORTEST_SECONDS = 5.5  # from one fault to the next
CHECK_EVERY = 4  # faults between two commands that rebuild or verify
TOGETHER = 0.2  # share of faults that happen at once with the next one


class Fault(NamedTuple):
    """Something that happens to a server or a process."""

    name: str
    kind: str
    seconds: float


def plan_faults(stack: Stack, seed: str, seconds: float) -> list[list[Fault]]:
    """Return the script: every kind on every server and process, some of them two at once.

    A short storm has only the first faults of the script.
    """
    chance = random.Random(f"{seed} faults")
    pairs = [(name, kind) for name in REDIS_NAMES for kind in stack.list_kinds(name)]
    pairs += [(SQL, kind) for kind in (("kill", "stop", "partition") if stack.postgres else ("stop",))]
    pairs += [(name, "process killed") for name in PROCESSES if name in stack.commands]
    pairs += [("relay", "process stopped")] if "relay" in stack.commands else []
    chance.shuffle(pairs)
    script: list[list[Fault]] = []
    for name, kind in pairs:
        length = HANG_SECONDS if (name, kind) == ("state", "stop") else LENGTH_SECONDS
        fault = Fault(name, kind, chance.uniform(*length))
        if script and len(script[-1]) == 1 and chance.random() < TOGETHER and _may_meet(script[-1][0], fault):
            script[-1].append(fault)
        else:
            script.append([fault])
    return script[: max(1, int(seconds / SHORTEST_SECONDS))]


def _may_meet(one: Fault, other: Fault) -> bool:
    """Return whether two faults may happen at once. The risk of a loss is read from SQL, and each server fails once."""
    is_loss = one.kind in LOSSES or other.kind in LOSSES
    return one.name != other.name and not (is_loss and SQL in (one.name, other.name))


class Weather:
    """Runs the script."""

    def __init__(self, stack: Stack, calendar: Calendar, script: list[list[Fault]]) -> None:
        self.stack, self.calendar, self.script = stack, calendar, script
        self.done: list[Fault] = []

    def run(self, seconds: float) -> None:
        """Let all faults happen, evenly distributed over this time. Call this in the main thread."""
        gap, start = seconds / len(self.script), time.monotonic()
        for number, faults in enumerate(self.script):
            for fault in faults:
                if fault.kind == "roll back":
                    self.stack.keep_older_file(fault.name)
            if number % CHECK_EVERY == CHECK_EVERY - 1:
                self._start_check(number)
            self.stack.tend(start + (number + 0.5) * gap - time.monotonic())
            self._happen(faults)
        self.stack.tend(start + seconds - time.monotonic())

    def _happen(self, faults: list[Fault]) -> None:
        print("  ".join(f"{fault.name}: {fault.kind}" for fault in faults), flush=True)
        with ExitStack() as stack:
            for fault in faults:
                self.calendar.begin(fault.name, fault.kind)
                stack.callback(self.calendar.end, fault.name)
                stack.enter_context(self.stack.fault(fault.name, fault.kind))
                self.done.append(fault)
            if any(fault.kind not in LOSSES for fault in faults):
                time.sleep(max(fault.seconds for fault in faults))

    def _start_check(self, number: int) -> None:
        """Start a rebuild or a verification beside the faults. Its result does not count: the site is in use."""
        if "check" in self.stack.crew.children:
            self.stack.crew.kill("check")
        what = "rebuild" if number % (2 * CHECK_EVERY) < CHECK_EVERY else "verify"
        self.stack.crew.start("check", f"django mirror {what}")
