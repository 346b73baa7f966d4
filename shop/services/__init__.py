"""What changes the shop: one module for each kind of thing."""
