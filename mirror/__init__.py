"""Keeps Redis equal to SQL: declare how a row shows in Redis, and it always does.

The public names are here; ``docs/architecture.md`` tells how the parts work together.
This application imports no other one, and can be lifted into any Django site.
"""

from mirror.declare import After, EdgeMirror, Family, Mirror, Reached, SummaryMirror, TableMirror, Watch, WindowMirror
from mirror.entries import Contribution, Entry, Field, Member, Members, OwnField, Scored, Value
from mirror.registry import register

__all__ = [
    "After",
    "Contribution",
    "EdgeMirror",
    "Entry",
    "Family",
    "Field",
    "Member",
    "Members",
    "Mirror",
    "OwnField",
    "Reached",
    "Scored",
    "SummaryMirror",
    "TableMirror",
    "Value",
    "Watch",
    "WindowMirror",
    "register",
]
