"""Template tags of the catalogue."""
