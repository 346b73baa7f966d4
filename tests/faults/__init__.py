"""Faults done to real processes: invariants 3 to 6 under attack, and what is found afterwards."""
