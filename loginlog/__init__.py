"""The login log: bitmaps of who was here on which day."""
