"""Tags and filters of the templates of accounts."""
