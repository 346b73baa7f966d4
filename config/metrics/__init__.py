"""The page ``/metrics`` for Prometheus."""
