"""What do the pages show?

- `svg`: shapes and texts as SVG
- `layers`: boxes above what they import
- `house`: the folders and rooms of Tidegate, by their imports
- `index_arrays`: the arrays of a small index
- `flow`: steps one below the other
- `micro_batch`: a micro-batch from source to sink
- `broker_step`: what a broker does about a message
- `draw`: all of them, into a folder
"""
