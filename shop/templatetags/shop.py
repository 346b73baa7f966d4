"""The template filter of the shop's emails. Pages use ``shop.template_functions``."""

from django import template

from shop.money import format_money

register = template.Library()
register.filter("money", format_money)
