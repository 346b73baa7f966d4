"""Pages of the shop, in HTML and (``Accept: application/json``) in JSON."""
