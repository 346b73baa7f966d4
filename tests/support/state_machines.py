"""Run state machines and other random operations: a number of examples, whatever time they take."""

import math
from typing import Final

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

# Seeds of random operations. As with state machines, PostgreSQL runs a third of them, and the suite of the cluster all.
SEEDS: Final = [0, *(pytest.param(seed, marks=pytest.mark.only_on("cluster")) for seed in (1, 2))]


def run_machine(machine: type[RuleBasedStateMachine], *, examples: int, steps: int = 25) -> None:
    """Run so many examples of so many steps each; on PostgreSQL a third of the examples.

    Each database has to keep the invariants, but the order of operations is explored on SQLite, which is faster.
    """
    if connection.vendor == "postgresql":
        examples = math.ceil(examples / 3)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
