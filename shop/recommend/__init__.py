"""What goes with a book, worked out from SQL history.

history     who bought and who looked at what, read from SQL into arrays
bought      "readers who bought this also bought": more often together than chance has it
looked      "37% of readers who looked at this bought": within a week of the look
build       both, for every product, written to ``Recommendation`` rows; only what has changed
selectors   for a page: from the mirror, without what is sold out
"""
