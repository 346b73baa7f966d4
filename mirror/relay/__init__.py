"""The relay: drains that make Redis equal to SQL, and everything that starts them."""

from typing import TYPE_CHECKING

from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.relay import drains, send, tables
    from mirror.relay.drains import Deadline
    from mirror.relay.hints import hint

__all__ = ["Deadline", "drains", "hint", "send", "tables"]

# The modules need no entry: Python imports a module of a package by itself.
__getattr__ = export_lazily(__name__, {"Deadline": "mirror.relay.drains", "hint": "mirror.relay.hints"})
