"""Readers' own lists of books. Each list has a privacy level; ``social`` knows the followers."""
