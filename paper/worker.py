"""A process for runs of plans: `python -m paper.worker DIR ...`.

Not for people: `python -m paper` starts it, and waits for it.
"""

import os
import sys
import time
import traceback

STARTED = time.perf_counter()


def main(words: list[str]) -> int:
    first_flag = next((k for k, w in enumerate(words) if w[:2] == "--"), len(words))
    directories, flags = words[:first_flag], words[first_flag:]
    if "--cores" in flags:
        # before JAX is imported, which makes a thread for each core
        cores = flags[flags.index("--cores") + 1].split(",")
        os.sched_setaffinity(0, set(map(int, cores)))
    from substrax._compile_cache import use_cache

    if "--no-cache" in flags:
        import jax

        jax.config.update("jax_enable_compilation_cache", False)
    else:
        use_cache()
    from .evolution import Abandoned
    from .work import TASK, work

    try:
        for directory in directories:
            # taken away where there is no time left for it
            if os.path.exists(os.path.join(directory, TASK)):
                work(directory, STARTED if len(directories) == 1 else None)
    except Abandoned:
        return 75
    except Exception:
        # the last line is shown; where it comes from is in the log
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
