"""Template tags and filters of this application."""
