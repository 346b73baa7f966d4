"""Addresses by country: the fields of each country, their checks, and the text on the parcel.

formats     the fields of a country, and the text of an address
countries   the names of countries in the visitor's language
"""
