"""The site on one machine: its own Redis, web, worker and beat, started and stopped together.

``python -m config.devserver up`` (or ``demo``); ``make up`` and ``make demo`` call it.
"""
