"""Posts, follows and timelines."""
