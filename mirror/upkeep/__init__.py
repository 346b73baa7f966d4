"""Upkeep: the regular work of a relay besides drains: heartbeats, sweeps, replays and rebuilds."""
