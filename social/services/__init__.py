"""Services that write: posts, and relations between readers."""
