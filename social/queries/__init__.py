"""SQL queries of feeds and timelines."""
