"""The ``{% placeholder %}`` tag of ``shop.pagecache.fragments``."""

from django import template

from shop.pagecache.fragments import compile_fragment

register = template.Library()
register.tag("placeholder", compile_fragment)
