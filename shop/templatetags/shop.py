"""The template filters of the shop's emails. Pages use ``shop.template_functions``."""

from django import template

from shop.delivery.names import translate_method
from shop.money import format_money

register = template.Library()
register.filter("money", format_money)
register.filter("method_name", translate_method)
