"""The row cache of the sale page: rows of products in Redis, refreshed every few seconds.

rows     the cache: its schedule and the writing of rows
plan     the products that are cached because of sales
daemon   the loop around both
"""
