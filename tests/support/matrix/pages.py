"""Check error responses."""

from typing import Any, Final

from tests.support.matrix.browser import HTML, JSON

BARE: Final = ("/shop/payments/callback/",)  # its caller is a program that reads only the status


def is_complete(path: str, response: Any) -> bool:
    """Return whether an error is a page of the site or JSON."""
    kind = response.headers["Content-Type"]
    if path in BARE:
        return True
    return b"</html>" in response.content if kind.startswith(HTML) else kind.startswith(JSON)
