"""What does a subscription to a document say, and which ones does it meet?

In the order of the story: an XPath expression is cut into words (`lexer`) and read (`parser`;
`refusals` says why not) into a `syntax`, of which `meaning` makes a tree `pattern`, and `normal`
its one form. Values are compared as XPath does (`values`). Patterns relate by laying one over the
other (`containment`; `models` decides it exactly, for a price). One document (`tree`) is tried in
`evaluate`. `xpath` is what people hold in their hands, and `widen` makes it fit for several values
of its parameters; `prune` leaves parts of it out, by what a `sample` of documents says. `dtd` says
what documents of a type look like, and `synopsis` which paths those have that were seen. Many
documents become flat arrays (`reading`), and meet many patterns (`index`).
"""
