"""What does a subscription say?

A filter's text becomes an expression tree (`lexer`, `parser`, `expression`), whose constants are
spelled and compared as Spark does (`literals`, `compare`). One event is tried in `evaluate`; the
values a predicate allows are `meaning`'s, on the ordered `lines` of the types; `canonical` tells
when two filters say the same. `filter` is what people hold in their hands.
"""
