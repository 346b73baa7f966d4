"""Tools for developers: documentation, translations, language checks and the development server."""
