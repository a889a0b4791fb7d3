"""The layers around gathers and scatters: one table of small NumPy functions."""
