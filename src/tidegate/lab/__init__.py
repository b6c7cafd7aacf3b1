"""Is it true?

`workloads` draws what the papers' experiments run on.
"""
