"""How does an index change while it is read?

- `content`: what is in an index now
- `merger`: how segments are added, and made one again, while readers and writers go on
- `editor`: how one change is made, whatever the filters say
- `writer`: how subscriptions to events come, change and go
"""
