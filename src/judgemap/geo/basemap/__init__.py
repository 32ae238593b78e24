"""Base maps: an OpenStreetMap extract turned into a small, calm drawing of streets, water, green land and names."""
