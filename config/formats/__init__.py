"""Formats of dates and numbers where Django's are not what people read."""
