"""Run the site on one machine: an embedded Redis, web, worker and beat, started and stopped together.

``python -m tools.devserver up`` (or ``demo``); ``make up`` and ``make demo`` call it.
"""
