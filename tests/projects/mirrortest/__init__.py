"""A small application with every kind of mirror. It is installed in tests only."""
