"""What pages draw areas from: outlines, scenes of neighbours, and squares of a large map."""
