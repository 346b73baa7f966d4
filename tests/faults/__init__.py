"""Tests that kill, freeze, empty or revert real processes, and check the data afterwards."""
