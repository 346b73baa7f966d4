"""Records of products and sales, and their prices."""
