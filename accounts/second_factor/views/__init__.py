"""The pages of second factors: ``checking`` asks for a factor, ``managing`` adds and removes them."""
