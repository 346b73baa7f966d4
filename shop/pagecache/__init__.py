"""Whole pages, remembered without what is anybody's own: that is filled in when a page is served.

``pages`` says which pages; ``{% hole %}`` in their templates says what is left out of them.
"""
