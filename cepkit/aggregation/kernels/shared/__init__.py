"""Several sequences at once: shared prefix counters with their lanes, connected by snapshots.

Each piece of a sequence is a path in a tree of pieces; a node's counters and lanes, one place for
each live START of its piece, serve all sequences through it. If a piece follows others, each of its
STARTs keeps a snapshot: for every live START of the whole sequence, the aggregate of all matches of
the earlier pieces that begin there or later. Reading at a later place leaves out what has expired.
Cost: O(live STARTs) for an event of a node, for each of its lanes, and for a snapshot; from the
third piece on, times the live STARTs of the piece before.

Source: ASEQ, section 4; suffix sums in snapshots, and snapshots of lanes, are ours.
"""
