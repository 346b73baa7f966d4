"""Template tags for links to search results."""

from urllib.parse import urlencode

from django import template
from django.urls import reverse

from catalog import query

register = template.Library()


@register.filter
def tag_url(name: str) -> str:
    """Return the address of the list of books with a tag."""
    return f"{reverse('catalog:list')}?{urlencode({'q': query.format_query(query.Tag(name))})}"
