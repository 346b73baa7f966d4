"""Settings of the catalogue."""

# Words that titles are not sorted by where they come first. An article that ends with an apostrophe ("l'") needs no
# blank after it. SQL computes the sorted text: to apply another list, make a migration as catalog 0002 is.
CATALOG_ARTICLES = ["the", "a", "an"]

# Tags that say where a reader keeps a book. New tags whose whole names match are hidden; staff can show each of them.
CATALOG_HIDDEN_TAGS = [
    "default",
    "owned.*|(?:books-)?i-own|own-it|(?:in-)?my-.*|mine|personal-library|home-library|wish-?list",
    "(?:to|want-to|currently|have|not|already|must|never|re|un)-?read(?:ing)?(?:-.*)?",
    "(?:read|books-read|books)-(?:in-)?(?:19|20)[0-9]{2}(?:-.*)?|(?:19|20)[0-9]{2}-(?:read|books|reads|reading.*)",
    "read|reading|finished|abandoned|dnf|did-not-finish|on-hold|to-buy|wish-?list|library(?:-books?)?",
    "e-?books?|kindle(?:-books?)?|audio-?books?|audible|paperbacks?|hardcovers?",
]

# Names that mean a tag of another name. An import adds those that it meets to the table of other names, where staff
# edit them; names that are in that table already are left alone.
CATALOG_TAG_ALIASES = {
    "favourites": "favorites",
    "faves": "favorites",
    "favorite": "favorites",
    "favourite": "favorites",
    "favorite-books": "favorites",
    "favourite-books": "favorites",
    "my-favorites": "favorites",
    "my-favourites": "favorites",
    "all-time-favorites": "favorites",
    "owned-books": "owned",
    "books-i-own": "owned",
    "i-own": "owned",
    "own-it": "owned",
    "my-books": "owned",
    "my-library": "owned",
    "ebook": "ebooks",
    "e-book": "ebooks",
    "e-books": "ebooks",
    "audiobook": "audiobooks",
    "audio-book": "audiobooks",
    "audio-books": "audiobooks",
}

TAG_MAX_LENGTH = 50  # characters of a tag that a reader writes
TAGS_OF_READER = 20  # that one reader gives one book
TAG_RATES = ((30, 60), (300, 86_400))  # how often a reader may give tags: so many times in so many seconds
SHELF_RATES = ((120, 60), (2000, 86_400))  # how often a reader may change shelves: so many times in so many seconds
