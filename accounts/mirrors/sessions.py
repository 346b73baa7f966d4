"""How a session shows in Redis."""
