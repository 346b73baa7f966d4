"""Django's own tests as a proof of ``mirror``: ``make matrix ONLY=django-suite``."""
