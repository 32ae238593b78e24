"""Making a study from a boundary file: the upload, its columns, the draft."""
