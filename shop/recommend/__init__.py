"""Recommendations for a book, computed from the history in SQL.

history     purchases and views, read from SQL into arrays
bought      "readers who bought this also bought": products bought together more often than chance explains
looked      "37% of readers who looked at this bought": purchases within a week of a view
build       compute both for every product and write the changed ``Recommendation`` rows
selectors   read recommendations for a page from the mirror, without products that are sold out
page        render recommendations on a book's page and in its JSON
"""
