"""Windows: the newest rows of an owner, filled when they are read, and the fan-out that pushes rows into them."""

__all__ = ["window"]  # imported when it is used: other packages of ``mirror`` need this one
