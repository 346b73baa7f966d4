"""Users, and what they prove who they are with."""
