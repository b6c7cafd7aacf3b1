"""Which filters does an event meet?

The folder in the order in which to read it. `docs/engine.md` tells the same as a story.

What people use

- `index`: which subscriptions want an event, while they come, change and go
- `subscription`: what a subscription is, and what many of one filter are
- `updating`: what many become when their parameters change
- `tables`: how they come in many at once; `plain_columns`: what their columns hold
- `ids`: which code has an id
- `matches`: the ids that one event met
- `description`: what an index is made of
- `scan`: the same index, the slow and obvious way; the tests hold `index` against it

What filters become

- `condition`, `conditions`: what filters have in common, numbered; `meanings`: what is remembered
- `programs`: Boolean trees in postfix notation
- `ranges`: ranges whose constants nearly all differ; `cuts`: where a column of them cuts a line
- `sharing`: which subscriptions ask for the very same
- `clauses`, `clause_entries`: filters of many shapes, taken apart and compiled a column at a time
- `collecting`: no search for garbage meanwhile
- `letters`: columns of strings without the case of their letters
- `owning`: which ranges are conditions, and which their entries' own
- `block_entries`: what many subscriptions of one filter ask for, a column at a time
- `draft`: all of that together, before it is decided where it is kept
- `starts`: parts of flat arrays; `numbering`: which values are the same; `search`: binary

Where they are kept

- `layout`: which entry goes where, and in which order
- `assemble`: from that plan to flat arrays, and back
- `segment`: many subscriptions, compiled; it never changes; `compiling`: how it comes about
- `live`: which of them are still wanted, and when segments are merged; `aside`: in which thread
- `sources`: what subscriptions were given as

What events become

- `columns`: one attribute of a batch as keys; `arrow`: the same of Arrow columns, all at once;
  `frames`: columns of data frames; `plain_values`: the values of Arrow columns, one by one
- `encoded`: a batch, with what was worked out about it
- `axes`: where values lie among the ends of conditions; `strings`: strings of a column;
  `texts`: which of them meet conditions
- `rows`: conditions as they are asked about a batch
- `points`: which condition of a key a value meets; `keys`: which group has an event's key
- `range_lines`, `ends`, `numbers`: where values lie among the ends of ranges

How they meet

- `partition`: entries kept together, and how a batch meets them
- `kernels`: the same, compiled, 512 events at a time; `arrays`: what they work on; `row_kernels`:
  for which events conditions hold; `range_kernels`: where they lie among ranges; `entry_kernels`:
  for which of them entries hold; `output_kernels`: how they are counted and written
- `vector`: what is done to 512 events at once; `plain_vector`: in plain loops
- `sweep`, `sweep_kernels`: entries that are a key and ranges
- `single`, `single_kernels`: one event; `wide`: the conditions it would have to look up too often
- `output`: where results go

On disk

- `files`: named arrays in one file, mapped into memory
- `store`: an index as such arrays; `records`: what subscriptions were given as
- `notation`: filters and schemas in writing
- `consistency`: whether the arrays of a file fit together

Filters among filters

- `boxes`: which filters match an event, cover a filter, are covered by it, overlap it
- `space`: how far a filter reaches, in integers
- `ruler`: where values lie among the cuts of an attribute
- `integer_boxes`: a changing set of integer boxes; `box_kernels`: the search in it;
  `box_packing`: how it is put in order
"""
