"""A module that takes for ever to be imported."""

import time

time.sleep(1000)
