"""Second factors of a login: authenticator apps, passkeys and recovery codes. Staff need one (``factors.is_required``).

A login without its factor is no session: the right password is noted in the anonymous session (``pending``), and
only the page that asks for the factor looks there.
"""
