"""Timelines: pages, the home timeline, and authors whose posts are pulled."""
