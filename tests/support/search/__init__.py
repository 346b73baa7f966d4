"""Support for tests of the search."""
