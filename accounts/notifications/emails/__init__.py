"""Emails with notifications, and the links that end them."""
