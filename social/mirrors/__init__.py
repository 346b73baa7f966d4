"""Mirrors of posts, timelines and relations between readers. Each module declares one kind of structure."""

from social.mirrors import edges, notifications, posts, profiles, readers, windows  # noqa: F401
