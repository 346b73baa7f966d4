"""The shop's part of catalogue pages: the buy box, filters and sort orders by price."""
