"""Tests of readers' lists."""
