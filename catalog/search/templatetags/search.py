"""Links to what was found."""

from urllib.parse import urlencode

from django import template
from django.urls import NoReverseMatch, reverse

from catalog import query
from catalog.search.selectors import Named

register = template.Library()


@register.simple_tag
def author_url(author: Named) -> str:
    """The author's page; where there is none, their books."""
    try:
        return reverse("catalog:author", args=[author.id])
    except NoReverseMatch:
        return f"{reverse('search:search')}?{urlencode({'q': author.name})}"


@register.filter
def tag_url(name: str) -> str:
    """The books with a tag."""
    return f"{reverse('catalog:list')}?{urlencode({'q': query.to_text(query.Tag(name))})}"
