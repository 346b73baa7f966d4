"""Reading the goodbooks-10k files as the history of a shop: what readers want to read they looked at, and what they
rated they bought.

invented     prices, stock, and when somebody looked and bought: made up, and always the same
files        to_read.csv and ratings.csv, with what can be wrong with them
products     a product for each book
history      readers, looks and orders
put          many rows of a model in one statement

It only ever adds what is missing, in slices, so that the site goes on meanwhile; stopped half way, it goes on.
"""
