"""Books, their authors and tags, and how to find them."""
