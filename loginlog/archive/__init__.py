"""Months that are over: log files, expiry from Redis, and loading."""
