"""Which of many patterns does each of many documents match?

In the order of the story:

- `trie`: how many paths lie in one tree
- `automaton_kernels`: in which nodes of a trie a document's element is
- `draft`: what many patterns have in common
- `leaf_kernels`: which questions about its attributes, texts and value an element answers with yes
- `number_kernels`: which number a value is
- `plan`: what there is to look up while a document is matched
- `match_kernels`: which targets a document meets
- `output_kernels`: which subscriptions are behind the targets that were met
- `workspace`: what a thread needs to match documents
- `parts`: how a draft lies in memory and on disk, and how drafts become one
- `originals`: what subscriptions were given as
- `trees`: what a document of a batch looks like, one at a time
- `segment`: many subscriptions, compiled
- `compiler`: how subscriptions become a segment, and segments one
- `writer`: how subscriptions to documents come, change and go
"""
