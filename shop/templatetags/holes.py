"""The ``{% hole %}`` tag of ``shop.pagecache.holes``."""

from django import template

from shop.pagecache.holes import compile_fragment

register = template.Library()
register.tag("hole", compile_fragment)
