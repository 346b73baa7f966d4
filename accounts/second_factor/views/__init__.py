"""The pages of second factors: ``checking`` asks for one, ``managing`` adds and removes them."""
