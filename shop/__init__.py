"""Products, carts, checkout and recommendations."""
