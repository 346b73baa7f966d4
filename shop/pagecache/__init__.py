"""The page cache: whole pages for visitors without a session, and the reads of others' pages in one round trip.

Views declare their pages by ``common.public_pages``.
"""
