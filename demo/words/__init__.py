"""The words of the demo: names, titles and texts."""
