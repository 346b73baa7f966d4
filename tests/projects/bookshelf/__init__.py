"""Another project that installs ``mirror``: one application, its settings and its own tests."""
