"""The relay: drains that make Redis equal to SQL, and everything that starts them."""
