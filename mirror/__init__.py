"""Keeps Redis equal to SQL: declare how a row shows in Redis, and it always does.

The public names are here; ``docs/architecture.md`` tells how the parts work together.
This application imports no other one, and can be lifted into any Django site.
"""

from mirror.declare import EdgeMirror, Family, Mirror, SummaryMirror, Watch
from mirror.entries import Contribution, Entry, Field, Member, Members, OwnField, Scored, Value
from mirror.registry import register

__all__ = [
    "Contribution",
    "EdgeMirror",
    "Entry",
    "Family",
    "Field",
    "Member",
    "Members",
    "Mirror",
    "OwnField",
    "Scored",
    "SummaryMirror",
    "Value",
    "Watch",
    "register",
]
