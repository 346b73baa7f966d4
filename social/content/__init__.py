"""The text of posts: cleaning, tokens, links, mentions, and rendering as HTML."""

from social.content.cleaning import MAX_CHARACTERS

__all__ = [
    "MAX_CHARACTERS",
]
