"""Registered models: deployed with no code, exported to ONNX, traced to what made them."""
