"""How do events come in?

- `letter_case`: whether names differ only in upper and lower case
- `malformed`: which events are refused
- `event_files`: how events are read from files
"""
