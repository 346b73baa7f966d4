"""A small application that has everything a mirror can be made of. Installed in tests only."""
