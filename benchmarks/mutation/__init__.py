"""Programs that nobody has seen: a host, a fault in one of its sockets, and a disguise, drawn by a seed."""
