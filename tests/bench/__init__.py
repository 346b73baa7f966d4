"""``make bench``: every promise about speed as a ratio, both sides measured in one run."""
