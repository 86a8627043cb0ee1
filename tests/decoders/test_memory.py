"""Memory between one decoding and the next."""

import platform

from substrax.decoders import keep_freed_memory


def test_freed_memory_is_kept_where_the_c_library_can() -> None:
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
