"""Settings by topic. ``config.settings`` imports them."""
