"""Readers of a declaration: records, sets, rankings and names from Redis, or from SQL if Redis cannot answer.

Each reader asks one question (``mirror.declare.questions``). The asynchronous twins run in a thread, as those of
Django's queries do.
"""

from mirror.declare.readers.methods import R, Readers
from mirror.declare.readers.places import Name, Place
from mirror.declare.readers.scores import Bound

__all__ = ["Bound", "Name", "Place", "R", "Readers"]
