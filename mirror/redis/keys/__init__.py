"""The names of keys on the server: the prefix, the namespace of a test, the positions in commands, and the slots."""
