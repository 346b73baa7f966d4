"""Upkeep: the regular work of a relay besides drains: heartbeats, sweeps, replays and rebuilds."""

from mirror.upkeep.loads import bulk_load

__all__ = ["bulk_load"]
