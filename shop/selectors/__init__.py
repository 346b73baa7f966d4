"""Reads for the shop's pages: products, books, orders, sales and the checkout."""
