"""The row cache of the sale page: rows of products in Redis, each anew every few seconds.

rows     the cache: what is due when, and writing it
plan     which products are in it, because of sales
daemon   the loop of both
"""
