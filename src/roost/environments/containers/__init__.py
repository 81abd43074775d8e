"""Environments in images: the machine's engine, its images, and boxes, which are containers with one program in them."""
