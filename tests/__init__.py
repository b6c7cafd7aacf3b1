"""The tests mirror src/tidegate; `tests.oracle` holds the answers everything is checked against."""
