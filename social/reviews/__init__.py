"""Readers' reviews of books, and the posts that show reviews and ratings to followers."""
