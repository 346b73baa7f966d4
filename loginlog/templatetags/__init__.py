"""Template tags of the login log."""
