"""What does a run say, beside the documents?

- `findings`: rows, curves and decided claims of each experiment that was run
- `plots`: curves as SVG; `scales`: where ticks go
- `page`: one HTML file, for a browser; `markdown`: the same in tables, for the documentation
"""
