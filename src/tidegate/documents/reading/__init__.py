"""What becomes of the bytes of a document?

- `limits`: how large a document may be
- `memory`: what is at an address
- `expat`: how compiled code calls expat
- `handlers`: what becomes of what expat finds
- `parse_kernels`: how a batch of documents goes through expat
- `prolog`: what has to be done with a document before expat may see it
- `rows`: where the bytes of each document of a batch are
- `documents`: a batch of documents, once it is read
- `reader`: how bytes become documents
"""
