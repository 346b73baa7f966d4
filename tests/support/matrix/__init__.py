"""The matrix: every address of the site, everybody who may ask for it, and what nobody else may read there."""
