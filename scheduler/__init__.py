"""What runs next: tasks and deadlines, policies, the hybrid partition, clocks, the engine."""
