"""A throttle allows each key once per interval."""

from mirror.utils.throttle import Throttle


def test_key_is_allowed_again_after_the_interval() -> None:
    now = [0.0]
    throttle = Throttle(lambda: 10.0, clock=lambda: now[0])
    assert throttle.allows("a")
    now[0] = 9.9
    assert not throttle.allows("a")
    assert throttle.allows("b")
    now[0] = 10.0
    assert throttle.allows("a")
    assert not throttle.allows("b")


def test_reset_allows_every_key_again() -> None:
    throttle = Throttle(lambda: 10.0, clock=lambda: 0.0)
    assert throttle.allows()
    assert not throttle.allows()
    throttle.reset()
    assert throttle.allows()


def test_number_of_remembered_keys_is_bounded() -> None:
    throttle = Throttle(lambda: 10.0, clock=lambda: 0.0, max_keys=2)
    assert [throttle.allows(key) for key in "ab"] == [True, True]
    assert not throttle.allows("a")
    assert throttle.allows("c")
    assert throttle.allows("a")
