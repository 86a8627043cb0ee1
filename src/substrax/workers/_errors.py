"""What is said when workers fail for good."""


class WorkersError(OSError):
    """Work that no worker could do, in a sentence. What was saved before is whole."""
