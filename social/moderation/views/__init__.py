"""Views: the form of a report, and the pages that answer it."""
