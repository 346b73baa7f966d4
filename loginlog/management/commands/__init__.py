"""Commands of the login log."""
