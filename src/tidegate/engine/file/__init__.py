"""How does an index lie on disk?

- `container`: named arrays in one file, checked, and mapped into memory
- `originals_file`: how a file keeps what subscriptions were given as
- `consistency`: whether the arrays of a file fit together
- `index_file`: an index as such arrays
"""
