"""What several pages of the shop answer."""

from django.http import HttpResponse

from config.answers import json


def error(message: str, status: int) -> HttpResponse:
    """What was not done, and why, in JSON."""
    return json({"error": {"message": message}}, status)
