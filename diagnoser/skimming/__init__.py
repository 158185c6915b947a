"""Long logs by the block: lines of shapes that are known are counted and put into columns, not read one by one.

A shape (``layouts``) is learnt from a line that was read (``learning``): everything stands still but its numbers. A
block (``blocks``) is taken apart by what is left of its lines without their numbers (``digits``). Lines of no known
shape, and whatever a gap between them could change, are read as ever. The rest becomes a ``model.Gap`` (``gaps``): how
many lines of what kind, and the numbers of statistics lines. There is one way to read a line: what a shape means is
asked of the readers themselves, by trying it out (``reads``, ``trials``).
"""
