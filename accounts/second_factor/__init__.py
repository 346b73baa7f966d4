"""Second factors of a login: authenticator apps, passkeys and recovery codes. Staff need one (``factors.is_required``).

A right password alone does not begin a session: a pending login is stored in the anonymous session (``pending``), and
only the pages of the second factor read it.
"""
