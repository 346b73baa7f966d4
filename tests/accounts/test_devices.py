"""Names of devices from ``User-Agent`` headers."""

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from accounts.sessions.devices import MAX_DEVICE_NAME, describe_device, parse_user_agent
from tests.support.accounts.sessions import FIREFOX, SAFARI

MOZILLA = "Mozilla/5.0"
CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Windows"),
        (SAFARI, "Safari on iPhone"),
        (f"{MOZILLA} (X11; Linux x86_64) {CHROME} Safari/537.36", "Chrome on Linux"),
        (f"{MOZILLA} (Linux; Android 15; Pixel 9) {CHROME} Mobile Safari/537.36", "Chrome on Android"),
        (f"{MOZILLA} (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        (f"{MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {CHROME} Safari/537.36 OPR/120.0.0.0", "Opera on macOS"),
        (f"{MOZILLA} (X11; CrOS x86_64 16181.61.0) {CHROME} Safari/537.36", "Chrome on ChromeOS"),
        (
            f"{MOZILLA} (Linux; Android 14; SM-S911B) {CHROME} SamsungBrowser/27.0 Safari/537.36",
            "Samsung Internet on Android",
        ),
        (f"{MOZILLA} (iPad; CPU OS 18_5 like Mac OS X) CriOS/140.0 Mobile/15E148 Safari/604.1", "Chrome on iPad"),
        (f"{MOZILLA} (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/140.0 Safari/537.36", "Chrome on Linux"),
        ("curl/8.5.0", "curl"),
        ("Python-urllib/3.11", "Python-urllib"),
        ("Firefox/140.0", "Firefox"),
        ("", ""),
        ("   ", ""),
        ("☂", ""),
        ("<script>alert(1)</script>", ""),
        ("'; DROP TABLE accounts_session; --", ""),
    ],
)
def test_browsers_and_programs_get_a_name(user_agent: str, device: str) -> None:
    assert parse_user_agent(user_agent) == device


@given(st.text(max_size=2000) | st.text(max_size=30).map(lambda s: s + "Firefox/1 Windows" + s * 30))
def test_any_user_agent_gives_a_short_and_harmless_name(user_agent: str) -> None:
    device = parse_user_agent(user_agent)
    assert len(device) <= MAX_DEVICE_NAME
    assert device.isascii()
    assert not set(device) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-")
    assert device == device.strip()


def test_devices_are_described_in_the_active_language() -> None:
    assert describe_device("Firefox on Windows") == "Firefox on Windows"
    assert describe_device("curl") == "curl"
    assert describe_device("") == "Unknown device"
    with translation.override("zh-hans"):
        assert "Firefox" in describe_device("Firefox on Windows")
