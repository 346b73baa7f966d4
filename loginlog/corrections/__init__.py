"""Corrections of the login log: erasure, removal and settling."""
