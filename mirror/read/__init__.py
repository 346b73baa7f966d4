"""Reads of mirrored data, which are answered only by warm mirrors; otherwise SQL answers."""
