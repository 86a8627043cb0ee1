"""How often problems are solved, beside peers."""
