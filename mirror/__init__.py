"""Keep Redis equal to SQL: an application declares how a row appears in Redis, and this one does the rest.

The public names are here. ``docs/architecture.md`` explains how the parts work together. This application imports
no other one and can be installed in any Django site.
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
