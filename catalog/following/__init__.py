"""Readers follow authors, and are notified of new books."""
