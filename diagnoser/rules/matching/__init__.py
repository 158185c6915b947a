"""Which events a record is: templates of messages, and one look for all of them."""
