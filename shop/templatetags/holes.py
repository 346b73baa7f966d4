"""The ``{% hole %}`` tag of ``shop.pagecache.fragments``."""

from django import template

from shop.pagecache.fragments import compile_fragment

register = template.Library()
register.tag("hole", compile_fragment)
