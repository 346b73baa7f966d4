"""The site as a person meets it, in a real browser."""
