"""The pages of notifications, and the number in the header of all pages."""
