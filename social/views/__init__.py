"""Views, without domain logic: one module for each kind of page."""
