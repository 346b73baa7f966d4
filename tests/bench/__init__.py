"""``make bench`` measures every promise about speed as a ratio, with both sides in the same run."""
