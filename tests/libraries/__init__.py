"""Tests that need other libraries; `make test-libraries` builds their environments and runs them."""
