"""Tests that need other libraries; `make test-libraries` builds their environment and runs them."""
