"""What the results of a search consist of: all books that match, the candidates, their order, what pages show, and the
filter of lists by words.
"""
