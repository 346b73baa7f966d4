"""Users, their sessions, and the ways in which they prove their identity."""
