"""The access matrix: every address of the site, every kind of visitor, and the private texts that must not leak."""
