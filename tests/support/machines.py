"""Running state machines: how many examples is said, how long they take is nobody's concern."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run(machine: type[RuleBasedStateMachine], *, examples: int, steps: int = 25) -> None:
    """Have it do so many steps, in any order, so many times."""
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
