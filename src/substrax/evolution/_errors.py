"""What may end a run before its first generation."""


class TrackerError(OSError):
    """A tracker that could not be started, in a sentence."""
