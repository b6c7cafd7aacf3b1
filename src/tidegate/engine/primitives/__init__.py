"""What does the processor do well?

- `vector`: what 512 events say at once; `vector_reference`: the same in plain loops
- `sorted_search`: how many of these numbers come before each of those
- `odd_even`: where a value stands among cuts, if it may lie between them
- `distinct`: which values of an array are the same
- `offsets`: where the parts of a flat array begin
- `integer_arrays`: what the flat arrays of kernels are made of
- `alive`: which codes are still wanted
- `id_table`: which code has an id
- `result_buffers`: where results go
- `background`: how work goes on beside its caller
- `gc_pause`: no search for garbage while a million subscriptions are read
"""
