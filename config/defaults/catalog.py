"""Settings of the catalogue."""

CATALOG_TAG_BUCKETS = 1  # keys into which each set of a tag is divided on a large cluster (docs/scaling.md)

# Words that sorting ignores at the start of a title. An article that ends with an apostrophe ("l'") needs no blank
# after it. SQL computes the sort text: a change of this list needs a migration like catalog 0002.
CATALOG_ARTICLES = ["the", "a", "an"]

# Patterns of tags that state where a reader keeps a book, or how a reader likes or reads it. New tags with fully
# matching names are hidden. Staff can show each of them.
CATALOG_HIDDEN_TAGS = [
    "default",
    "owned.*|(?:books-)?i-own|own-it|(?:in-)?my-.*|mine|personal-library|home-library|wish-?list",
    "(?:to|want-to|currently|have|not|already|must|never|re|un)-?read(?:ing)?(?:-.*)?",
    "(?:read|books-read|books)-(?:in-)?(?:19|20)[0-9]{2}(?:-.*)?|(?:19|20)[0-9]{2}-(?:read|books|reads|reading.*)",
    "read|reading|finished|abandoned|dnf|did-not-finish|on-hold|to-buy|wish-?list|library(?:-books?)?",
    "tbr(?:-.*)?|to-re-?read(?:-.*)?|classics-to-read|unfinished|(?:didn-?t|couldn-?t|could-not)-finish|maybe|have|reviewed",
    "(?:on-my-|book)shelf|borrowed|nook|[1-5]-stars?",
    "e-?books?|kindle(?:-books?)?|audio-?books?|audible|paperbacks?|hardcovers?",
    "(?:all-time-|shelfari-)?(?:favou?rites?|faves?)(?:-.*)?|recommended|re-?reads?",
    "audio|adults?|english|read-in-english|books?|novels?|stand-?alones?|series",
    "book-?(?:club|group)s?(?:-.*)?|(?:for-|read-for-)?school(?:-books?)?|college",
]

# Aliases of tags. An import adds the aliases that it meets to the table of aliases, where staff edit them. Existing
# rows of that table are left unchanged.
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

TAG_MAX_LENGTH = 50  # characters
TAGS_OF_READER = 20  # by one reader for one book
WISH_RATES = ((5, 3600), (20, 86_400))  # wishes for books of one reader: (limit, period in seconds)
TAG_RATES = ((30, 60), (300, 86_400))  # votes for tags of one reader: (limit, period in seconds)
IMPORT_RATES = ((10, 3600), (30, 86_400))  # imports of libraries by one reader: (limit, period in seconds)
UPLOAD_RATES = ((60, 3600), (200, 86_400))  # files of libraries, also refused ones
AUTHOR_FOLLOW_RATES = ((60, 60), (1000, 86_400))  # follows of authors by one reader: (limit, period in seconds)
SHELF_RATES = ((120, 60), (2000, 86_400))  # changes of shelves by one reader: (limit, period in seconds)
