"""What is kept about the past, and how is it merged? The aggregate algebra and the synopses built on it."""
