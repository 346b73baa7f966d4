"""Delivery and VAT: what an order costs beside its books.

days     the shop's day, working days, and the days of arrival in words
vat      the rates of VAT (``vat_rates.csv``), and the VAT that a price includes
quotes   the methods of delivery for a parcel, and their prices
hints    what the cart says before a country is known
"""
