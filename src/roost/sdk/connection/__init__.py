"""How this process finds, starts and reaches its control plane. Start with `connections.connect`."""
