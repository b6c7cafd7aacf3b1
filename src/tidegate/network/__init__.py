"""How does it run live?

The brokers of `overlay` as processes of a machine. From the bottom up:

- `files`: files that are safe
- `frame`: records in a file, each with its number and its checksums
- `snapshot`: a broker's state in a file, replaced as a whole or not at all
- `journal`: records in an append-only file in segments, and which of them are whole
- `disk`: what a broker has written down, in a folder: a `Storage`
"""
