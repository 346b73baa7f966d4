"""Windows: the newest rows of an owner, filled when they are read, and the fan-out that pushes rows into them."""
