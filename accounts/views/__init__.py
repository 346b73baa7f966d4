"""The views of this application, one module per kind of page."""
