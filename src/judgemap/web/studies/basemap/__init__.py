"""A study's base map: the upload of an extract, the worker's making of it, its tiles and its pages."""
