"""Notifications: rows that are derived from facts of other applications, their page, the header's number, and emails.

An application registers its kinds (``kinds.register``) and declares for each a mirror (``tables.NotificationTable``)
that finds the facts.
"""
