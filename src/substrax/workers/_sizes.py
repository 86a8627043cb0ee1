"""How large slices are: by what they have cost. Nothing else depends on it."""

TARGET_SECONDS = 1.0
"""What a slice should take: much longer than its journey, and not much to lose."""
LEAST_SECONDS = 0.05
"""Below this the journey costs too much, however many workers wait."""
SLICES_EACH = 4
"""At least so many for each worker, so that none waits long for the last one."""
FIRST = 4
"""Items of a slice as long as nothing is known about them."""
_MEMORY = 0.7


class Sizes:
    """Learns what an item costs, and says how many make a slice."""

    def __init__(self) -> None:
        self.seconds_each: float | None = None

    def learn(self, num: int, seconds: float) -> None:
        """A slice of `num` items took so long."""
        each = max(seconds, 1e-9) / num
        if self.seconds_each is None:
            self.seconds_each = each
        else:  # the last ones count most: networks grow
            self.seconds_each = _MEMORY * self.seconds_each + (1 - _MEMORY) * each

    def size(self, total: int, num_workers: int) -> int:
        """Items of the next slice, of so many that there are."""
        share = -(-total // (SLICES_EACH * max(num_workers, 1)))
        if self.seconds_each is None:
            return min(share, FIRST)
        most = TARGET_SECONDS / self.seconds_each
        least = LEAST_SECONDS / self.seconds_each
        return int(max(1, min(total, max(min(share, most), least))))
