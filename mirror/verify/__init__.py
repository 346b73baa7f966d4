"""Verification: compare SQL and Redis in both directions, repair differences, and explain single rows."""
