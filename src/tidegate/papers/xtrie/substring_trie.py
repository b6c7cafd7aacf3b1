"""Which substrings end at a node of a document?

A trie over the names of all substrings, each edge labelled with a name. α of a node is the first
row of the substring that is the node's label, if it is one. β is the node whose label is the
longest proper suffix of the node's label: where one substring is found to end, those that are
suffixes of it end as well, and when no edge fits, it goes on from there (Aho and Corasick, 1975, do
so with words in a text).
"""

from tidegate.papers.xtrie.decomposition import Names

ROOT = 0


class SubstringTrie:
    """The trie. β is worked out when it is first asked for after a change."""

    def __init__(self) -> None:
        self.edges: list[dict[str, int]] = [{}]
        self.alpha = [0]
        self._beta: list[int] | None = [ROOT]

    def __len__(self) -> int:
        return len(self.edges)

    def node(self, names: Names) -> int:
        """The node of a substring, made if it is not there."""
        node = ROOT
        for name in names:
            below = self.edges[node].get(name)
            if below is None:
                below = self.edges[node][name] = len(self.edges)
                self.edges.append({})
                self.alpha.append(0)
                self._beta = None
            node = below
        return node

    @property
    def beta(self) -> list[int]:
        """Of each node, that of the longest proper suffix of its label; of the root, itself."""
        if self._beta is None:
            self._beta = self._suffixes()
        return self._beta

    def _suffixes(self) -> list[int]:
        beta = [ROOT] * len(self.edges)
        level = list(self.edges[ROOT].values())
        while level:
            deeper = []
            for node in level:
                for name, below in self.edges[node].items():
                    beta[below] = self._step(beta[node], name, beta)
                    deeper.append(below)
            level = deeper
        return beta

    def step(self, node: int, name: str) -> int:
        """The node of the longest label that ends at a name, below where another one ended."""
        return self._step(node, name, self.beta)

    def _step(self, node: int, name: str, beta: list[int]) -> int:
        while True:
            below = self.edges[node].get(name)
            if below is not None:
                return below
            if node == ROOT:
                return ROOT
            node = beta[node]
