"""Readers' shelves, ratings and yearly goals. Privacy belongs to a shelf; ``social`` decides who is a follower."""
