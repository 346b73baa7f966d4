"""Keep Redis equal to SQL: an application declares how a row appears in Redis, and this one does the rest.

The public names are here. ``docs/architecture.md`` explains how the parts work together. This application imports
no other one and can be installed in any Django site.
"""

from mirror import registry
from mirror.declare.buckets import find_bucket_key, find_bucket_start, list_bucket_keys
from mirror.declare.entries import Bit, Contribution, Entry, Field, Member, Members, OwnField, Scored, Value
from mirror.declare.fields import Column, Count, Ids, Names, Sum, Values
from mirror.declare.indexes import Alphabetical, Lookup, Ranking, SetOf
from mirror.declare.mirrors import EdgeMirror, Mirror, Record, SummaryMirror, TableMirror
from mirror.declare.watches import After, Family, Watch
from mirror.registry import register
from mirror.windows.declare import Reached, WindowMirror

__all__ = [
    "After",
    "Alphabetical",
    "Bit",
    "Column",
    "Contribution",
    "Count",
    "EdgeMirror",
    "Entry",
    "Family",
    "Field",
    "Ids",
    "Lookup",
    "Member",
    "Members",
    "Mirror",
    "Names",
    "OwnField",
    "Ranking",
    "Reached",
    "Record",
    "Scored",
    "SetOf",
    "Sum",
    "SummaryMirror",
    "TableMirror",
    "Value",
    "Values",
    "Watch",
    "WindowMirror",
    "find_bucket_key",
    "find_bucket_start",
    "list_bucket_keys",
    "register",
    "registry",
]
