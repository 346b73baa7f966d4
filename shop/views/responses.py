"""Responses that several pages of the shop share."""

from django.http import HttpResponse

from common.web import json_response


def json_error(message: str, status: int) -> HttpResponse:
    """Return a JSON response with the reason of a refusal."""
    return json_response({"error": {"message": message}}, status)
