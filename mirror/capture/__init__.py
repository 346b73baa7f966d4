"""Capture: triggers that append a change to the outbox for every modification of a watched row."""
