"""Comparison of SQL with Redis: the expected content, a scan of the actual content, and a close look at single rows."""
