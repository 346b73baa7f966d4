"""Names of the Redis keys of the catalogue; connections add the prefix."""


def book(book_id: int | str) -> str:
    """String (JSON): title, authors, year, tags and other fields of a book. Life: as the book. Owner: BookMirror."""
    return f"book:{book_id}"


def book_details(book_id: int | str) -> str:
    """String (JSON): description, publisher, format, translators and illustrators of a book. Life: as the details.
    Owner: BookDetailsMirror.
    """
    return f"book_details:{book_id}"


def tag(name: str) -> str:
    """Set: ids of the books with a tag; with ``CATALOG_TAG_BUCKETS`` {tag.bucket0}:<name> and so on. Life: while a book
    has it. Owner: BookMirror.
    """
    return "{tag}:" + name


def popular() -> str:
    """Sorted set: book id by popularity. Life: always. Owner: BookMirror."""
    return "books:popular"


def newest() -> str:
    """Sorted set: book id by year of first publication (unknown: -inf). Life: always. Owner: BookMirror."""
    return "books:newest"


def ratings() -> str:
    """Sorted set: book id by mean rating (none: -inf). Life: always. Owner: BookMirror."""
    return "books:rating"


def language(code: str) -> str:
    """Set: ids of the books in a language (code of two or three letters). Life: while a book has it.
    Owner: BookMirror.
    """
    return "{language}:" + code


def author(author_id: int | str) -> str:
    """String (JSON): name of an author, a text about the author and a photo. Life: as the author.
    Owner: AuthorMirror.
    """
    return f"author:{author_id}"


def books_by(author_id: int | str) -> str:
    """Set: ids of the books of an author. Life: while the author has a book. Owner: BookMirror."""
    return f"{{author}}:{author_id}"


def author_followers(author_id: int | str) -> str:
    """Set: ids of the readers who follow an author. Life: as the follows. Owner: AuthorFollowMirror."""
    return f"author_followers:{{{author_id}}}"


def followed_authors(user_id: int | str) -> str:
    """Set: ids of the authors that a reader follows. Life: as the follows. Owner: AuthorFollowMirror."""
    return f"uid:{{{user_id}}}:authors"


def series(author_id: int | str, name: str) -> str:
    """Sorted set: "<book id, 19 digits> NUL <title>" of the single volumes of an author's series (folded name), by
    volume number. Life: while it has a volume. Owner: BookMirror.
    """
    return f"{{series}}:{author_id}:{name}"


def titles() -> str:
    """Sorted set: "<sort key of the title> NUL <book id>", all scored 0. Life: always. Owner: BookMirror."""
    return "books:title"


def changes() -> str:
    """Stream: changed entries of the catalogue, for the copies in the processes.
    Life: about the last 100,000. Owner: BookMirror.
    """
    return "books:changes"


def tag_record(tag_id: int | str) -> str:
    """String (JSON): name of a tag. Life: as the tag. Owner: TagMirror."""
    return f"tag:{tag_id}"


def tag_names() -> str:
    """Sorted set: "<name of a tag> NUL <tag id>", all scored 0. Life: always. Owner: TagMirror."""
    return "tags:name"


def search_document(pk: str) -> str:
    """String (JSON): names of the search lists that contain a document. Life: as the document.
    Owner: DocumentMirror.
    """
    return f"search:document:{pk}"


def search_term(text: str) -> str:
    """String (JSON): a word of the search vocabulary. Life: while a document has it. Owner: TermMirror."""
    return f"search:term:{text}"


def search_list(name: str) -> str:
    """Sorted set: documents or words by minus their weight (catalog.search.entries names the lists).
    Life: while it has a member. Owner: DocumentMirror, TermMirror.
    """
    return f"search:{name}"


def hidden_tag(tag_id: int | str) -> str:
    """String (JSON): name of a hidden tag. Life: while it is hidden. Owner: HiddenTagMirror."""
    return f"hidden_tag:{tag_id}"


def hidden_tags() -> str:
    """Sorted set: ids of hidden tags, all scored 0. Life: while a tag is hidden. Owner: HiddenTagMirror."""
    return "tags:hidden"


def hidden_names() -> str:
    """Set: "<name of a hidden tag> NUL <tag id>". Life: while a tag is hidden. Owner: HiddenTagMirror."""
    return "tags:hidden:names"


def tag_vote(vote_id: int | str) -> str:
    """String (JSON): user, book and tag of a vote. Life: as the vote. Owner: TagVoteMirror."""
    return f"tag_vote:{vote_id}"


def tags_of_reader(user_id: int | str, book_id: int | str) -> str:
    """Sorted set: "<name of a tag> NUL <vote id>" of a reader's votes for a book, all scored 0. Life: as the votes.
    Owner: TagVoteMirror.
    """
    return f"uid:{{{user_id}}}:book:{book_id}:tags"


def shelf_entry(user_and_book: str) -> str:
    """String (JSON): shelf, stars and dates of a book on a reader's shelf. Life: while the reader is active.
    Owner: ShelfEntryMirror.
    """
    return f"shelved:{user_and_book}"


def shelf_of(user_id: int | str, shelf: str) -> str:
    """Sorted set: book id by the date that the shelf is sorted by. Life: while the reader is active.
    Owner: ShelfEntryMirror.
    """
    return f"shelf:{shelf}:{{{user_id}}}"


def earlier_reading(reading_id: int | str) -> str:
    """String (JSON): reader and end of an earlier finished reading. Life: as the reading.
    Owner: EarlierReadingMirror.
    """
    return f"reading:{reading_id}"


def readings_of(user_id: int | str) -> str:
    """Sorted set: ids of a reader's earlier finished readings by their last day. Life: while there is one.
    Owner: EarlierReadingMirror.
    """
    return f"uid:{{{user_id}}}:readings"


def readers_of(book_id: int | str) -> str:
    """Sorted set: user id by shelf (0: want to read, 1: reading, 2: read, 3: did not finish), public shelves only.
    Life: while it has a reader. Owner: ShelfEntryMirror.
    """
    return f"book:{{{book_id}}}:readers"


def stars_of(book_id: int | str) -> str:
    """Sorted set: user id by stars (in halves), public shelves only. Life: while it has a reader.
    Owner: ShelfEntryMirror.
    """
    return f"book:{{{book_id}}}:stars"


def shelf_settings(user_id: int | str) -> str:
    """String (JSON): privacy of a reader's shelves, and the reader's yearly goals. Life: as the reader.
    Owner: ShelfSettingsMirror.
    """
    return f"shelves:{user_id}"


def reading_list(list_id: int | str) -> str:
    """String (JSON): name, description, privacy and order of a reader's list. Life: while the reader is active.
    Owner: ReadingListMirror.
    """
    return f"reading_list:{list_id}"


def lists_of(user_id: int | str) -> str:
    """Sorted set: ids of a reader's lists by id. Life: while the reader is active. Owner: ReadingListMirror."""
    return f"lists:{{{user_id}}}"


def listed_book(pk: int | str) -> str:
    """String (JSON): list, reader, book and position of a book on a list. Life: while the reader is active.
    Owner: ListedBookMirror.
    """
    return f"listed:{pk}"


def books_by_position(list_id: int | str) -> str:
    """Sorted set: ids of a list's rows by position. Life: as the list. Owner: ListedBookMirror."""
    return f"list:{{{list_id}}}:positions"


def books_by_addition(list_id: int | str) -> str:
    """Sorted set: ids of a list's rows by id, which is the order of addition. Life: as the list.
    Owner: ListedBookMirror.
    """
    return f"list:{{{list_id}}}:added"


def listings_of(user_id: int | str, book_id: int | str) -> str:
    """Set: ids of the rows that put a book on a reader's lists. Life: as the rows. Owner: ListedBookMirror."""
    return f"listings:{{{user_id}}}:{book_id}"


def public_listings(book_id: int | str) -> str:
    """Sorted set: ids of the rows that put a book on public lists, by id. Life: as the rows.
    Owner: ListedBookMirror.
    """
    return f"public_listings:{{{book_id}}}"
