"""Several sequences at once: shared prefix counters with their lanes, connected by snapshots.

Each piece of a sequence is a path in a tree of pieces; a node's counters and lanes, one place for
each live START of its piece, serve all sequences through it. Where a piece follows others, each of
its STARTs keeps a snapshot: for every live START of the whole sequence what all matches of what
comes before hold that begin there or later, so that what has expired is left out by where one
looks. Cost: O(live STARTs) for an event of a node, for each of its lanes, and for a snapshot; times
those of the piece before for a third piece and on.

Source: ASEQ, section 4; snapshots summed from the newest START on, and those of lanes, are ours.
"""
