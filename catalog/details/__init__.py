"""Details of a book that only its own page shows: description, publisher, format, translators and illustrators."""
