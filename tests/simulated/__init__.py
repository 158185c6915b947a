"""A small inference server in pure Python that prints and exports what real ones do, and whose troubles are known."""
