"""How what readers say shows in Redis. One module for each kind of structure."""

from social.mirrors import edges, posts, readers, windows  # noqa: F401
