"""Wishes: books that readers ask for, because the shop does not have them."""
