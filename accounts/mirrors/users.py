"""How a user, their logins and their name show in Redis."""
