"""What the layers around the gather/scatter family compute: one table of small NumPy functions."""
