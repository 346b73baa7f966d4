"""Settings of the catalogue."""

# Words that titles are not sorted by where they come first. An article that ends with an apostrophe ("l'") needs no
# blank after it. SQL computes the sorted text: to apply another list, `manage.py migrate catalog 0001`, then `migrate`.
CATALOG_ARTICLES = ["the", "a", "an"]
