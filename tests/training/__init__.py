"""Tests of training; they need torch."""
