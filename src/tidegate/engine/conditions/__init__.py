"""What does a filter ask of one attribute?

- `condition`: one condition, an attribute and the values it allows
- `meaning_cache`: what a predicate means, if it was asked before
- `numbered`: the conditions that filters have in common, numbered
- `axis`: where a value lies among the ends of all conditions on an attribute
- `text_search`: which strings meet a condition on text
- `point_table`: which condition of a key a value meets; `key_table`: which group has such a key
- `cuts`: where the constants of a whole column cut a line
- `ranges`: ranges whose constants nearly all differ
- `range_lines`: on which lines the events lie that ranges are compared with
- `selectivity`: how many values meet a condition, at a guess
"""
