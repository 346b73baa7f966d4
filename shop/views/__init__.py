"""Pages of the shop, in HTML and in JSON (``Accept: application/json``)."""
