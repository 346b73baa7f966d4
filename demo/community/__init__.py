"""Reviews, likes and replies of the demo."""
