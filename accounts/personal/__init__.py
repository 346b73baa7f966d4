"""Personal data: each application registers the parts that a download contains and a deletion erases."""

from accounts.personal.registry import NotErasableYet, Part, erase_nothing, make_part, register

__all__ = [
    "NotErasableYet",
    "Part",
    "erase_nothing",
    "make_part",
    "register",
]
