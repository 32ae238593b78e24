"""A study's base map: uploading an extract, making the map in a worker, its tiles and its pages."""
