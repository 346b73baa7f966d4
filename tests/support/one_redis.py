"""Tests that do not apply to a Redis Cluster, with the reason. ``--redis cluster`` leaves them out."""

from typing import Final

import pytest

# By reason: nodes of tests, or whole files, below ``tests/``.
REASONS: Final[dict[str, tuple[str, ...]]] = {}


def mark(items: list[pytest.Item]) -> None:
    """Mark these tests."""
    reasons = {name: reason for reason, names in REASONS.items() for name in names}
    for item in items:
        node = item.nodeid.removeprefix("tests/").partition("[")[0]
        if reason := reasons.get(node) or reasons.get(node.partition("::")[0]):
            item.add_marker(pytest.mark.one_redis(reason))
