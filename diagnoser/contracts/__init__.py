"""What leaves the program as data: the public JSON contracts, and what pages draw beside them."""
