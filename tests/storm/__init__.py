"""A storm: simulated people use the whole site while its servers fail (``make storm``, ``docs/reliability.md``)."""
