"""How far has it come?

- `steps`: the tasks of a batch, the steps of longer work
- `tally`: how many notifications are in some files
- `stream`: what the micro-batches of a stream have brought
"""
