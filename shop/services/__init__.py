"""Writes of the shop, one module for each kind of object."""
