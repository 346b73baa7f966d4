"""What readers do: one module for each kind of thing."""
