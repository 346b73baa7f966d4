"""The relay: drains that make Redis equal to SQL, and everything that starts them."""

from mirror.relay import drains, send, tables
from mirror.relay.drains import Deadline
from mirror.relay.hints import hint

__all__ = ["Deadline", "drains", "hint", "send", "tables"]
