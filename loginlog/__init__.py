"""The login log: bitmaps of the users that logged in on each day."""
