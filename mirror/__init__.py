"""Keep Redis equal to SQL: an application declares how a row appears in Redis, and this one does the rest.

The public names are here. ``docs/architecture.md`` explains how the parts work together. This application imports
no other one and can be installed in any Django site.
"""

from mirror import registry
from mirror.declare.buckets import find_bucket_key, find_bucket_start, list_bucket_keys
from mirror.declare.entries import Bit, Contribution, Entry, Field, Member, Members, OwnField, Scored, Value
from mirror.declare.fields import Column, Count, Ids, Names, Sum, Values
from mirror.declare.indexes import Alphabetical, Lookup, Ranking, SetOf, SqlMembers
from mirror.declare.mirrors import EdgeMirror, Mirror, Record, SummaryMirror, TableMirror
from mirror.declare.questions import AskSql, Question, answer, together
from mirror.declare.readers import Name, Place
from mirror.declare.watches import After, Family, Watch
from mirror.registry import register
from mirror.windows.declare import Reached, WindowMirror

__all__ = [
    "After",
    "Alphabetical",
    "AskSql",
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
    "Name",
    "Names",
    "OwnField",
    "Place",
    "Question",
    "Ranking",
    "Reached",
    "Record",
    "Scored",
    "SetOf",
    "SqlMembers",
    "Sum",
    "SummaryMirror",
    "TableMirror",
    "Value",
    "Values",
    "Watch",
    "WindowMirror",
    "answer",
    "find_bucket_key",
    "find_bucket_start",
    "list_bucket_keys",
    "register",
    "registry",
    "together",
]
