"""First steps of a new reader: choose genres, rate books, follow readers, import a library."""
