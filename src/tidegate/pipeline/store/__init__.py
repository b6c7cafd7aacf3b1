"""Who has subscribed to what, at which version?

- `literals`: how the values of parameters are kept in a table
- `local_copies`: where on this machine a file of a remote store is
- `objects`: how objects beside the table of changes are kept, in a folder or in an object store
- `kept_rows`: which small files need not be read again
- `change_files`: how changes are kept in Parquet files
- `log_entries`: which file one version has added
- `damage`: which file of a Delta log is damaged
- `delta_log`: which files make up a version
- `fold`: the state after some changes; `versions`: what a version says
- `refusals`: which rows are refused, and why
- `language`: what a store has to know of its filters; `attribute_language`: of those on attributes;
  `pattern_language`: of those on documents; `languages`: which one a store has
- `proposal`: what somebody wants to change, checked as far as possible without the store
- `validation`: whether that fits what is in the store
- `change_tables`: how changes come in
- `upkeep`: how a store stays small
- `store`: all of it, which is what people use (`Store`)
- `pins`: which version and which base a micro-batch used
- `load_index`: how stored subscriptions get into an index
- `spark_reader`: how Spark reads a version
"""
