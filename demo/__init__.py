"""Demo data and demo traffic."""
