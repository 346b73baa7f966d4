"""Tests of imports and exports of libraries."""
