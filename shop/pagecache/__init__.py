"""The page cache: whole pages that are stored without their cache fragments and served to everyone.

``pages`` declares the cached pages. The ``{% placeholder %}`` tag in their templates marks the fragments, which are
rendered when a page is served.
"""
