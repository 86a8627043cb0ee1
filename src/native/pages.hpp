// Memory that looks at files.
#pragma once

#include <cstdint>

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace substrax {

// Gives back the memory that looking at a part of a file has taken. Only for pages of
// files: others would lose what they hold.
inline void give_back_pages(const void* begin, const void* stop) {
#ifndef _WIN32
  const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (uintptr_t(begin) + page - 1) / page * page, last = uintptr_t(stop) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
  (void)begin, (void)stop;
#endif
}

}  // namespace substrax
