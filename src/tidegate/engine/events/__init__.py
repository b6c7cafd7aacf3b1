"""What do events become?

- `strings`: the distinct strings of a column; `cased_strings`: without the case of their letters
- `python_values`: the values of an Arrow array, one by one
- `plain_cells`: mappings whose values are all alike, as Arrow arrays
- `arrow_keys`: Arrow columns as keys, all values at once
- `frame_columns`: the columns of data frames
- `columned_events`: events that are columns and mappings, in a form of somebody else's
- `batch`: events as columns of keys
- `encoded_batch`: a batch, with what was worked out about it
"""
