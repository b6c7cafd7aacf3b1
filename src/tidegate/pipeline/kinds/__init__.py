"""What is a kind of filters to the pipeline?

- `kind`: what every kind has to say
- `attributes`: filters on attributes
- `documents`: filters on XML documents
- `kinds`: which kind a store, or a base, has
"""
