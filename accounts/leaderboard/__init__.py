"""The leaderboard of logins: its pages, read from Redis, and its queries in SQL."""

from accounts.leaderboard.sql import find_top_ids

__all__ = [
    "find_top_ids",
]
