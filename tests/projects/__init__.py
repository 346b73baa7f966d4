"""Small applications and projects that use ``mirror``, for its tests."""
