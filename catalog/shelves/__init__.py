"""Readers' shelves, ratings and yearly goals. Each shelf has a privacy level; ``social`` knows the followers."""
