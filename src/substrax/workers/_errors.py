"""What is said when workers fail for good."""


class WorkersError(OSError):
    """Work that no worker could do, in a sentence without its full stop, since more may
    follow. What was saved before is whole."""
