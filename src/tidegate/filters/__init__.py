"""What does a subscription say?

In the order of the story: a text is cut into tokens (`lexer`), which make a `syntax` by a
`grammar`, and is parsed (`parser`; `flaws` and `refusals` say what is wrong with it), once for all
texts of its shape (`shapes`, `template`, `recent`), into predicates (`expression`). Constants are
spelled (`literals`, `datetimes`), admitted (`admission`) and compared (`values`, `compare`,
`listing`, `patterns`, `letters`) as Spark does; a `schema` gives attributes their `types`
(`attribute`, `sources`, `ddl`). One event is tried in `evaluate`. The values a predicate allows are
`meaning`'s: a `valueset`, made of `bounds` on the ordered `lines` of the types; `canonical` tells
when two filters say the same. `filter` is what people hold in their hands; `moved` is how little it
takes to change some of its constants.
"""
