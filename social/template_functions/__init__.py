"""Functions of templates: posts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from social.content.spoilers import mark_named_omissions
from social.queries.records import quote_post
from social.template_functions import book_lists, book_posts, book_reviews, people, posts

FUNCTIONS: Final[Mapping[str, Any]] = {
    "avatar": people.avatar,
    "bare_post": posts.bare_post,
    "composer_about": posts.composer_about,
    "former_text": posts.former_text,
    "lists_with_book": book_lists.lists_with_book,
    "max_characters": posts.max_characters,
    "post_card": posts.post_card,
    "post_cards": posts.post_cards,
    "post_key": posts.post_key,
    "post_text": people.post_text,
    "posts_about_book": book_posts.posts_about_book,
    "posts_about_books_by": book_posts.posts_about_books_by,
    "quote_post": quote_post,
    "reviews_of_book": book_reviews.reviews_of_book,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"mark_named_omissions": mark_named_omissions}
