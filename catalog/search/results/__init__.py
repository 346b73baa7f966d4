"""What the results of a search consist of: all books that match, their order, and the filter of lists by words."""
