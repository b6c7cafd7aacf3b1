"""How does an index change while it is read?

- `content`: what is in an index now
- `merger`: how segments are added, and made one again, while readers and writers go on
- `writer`: how subscriptions come, change and go
"""
