// Address space that is reserved at once and becomes memory where it is written to.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace substrax {

class Reservation {
 public:
  explicit Reservation(size_t num_bytes) : size_(num_bytes ? num_bytes : 1) {
#ifdef _WIN32
    data_ = VirtualAlloc(nullptr, size_, MEM_RESERVE, PAGE_READWRITE);
    if (!data_) throw std::bad_alloc();
#else
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Fewer, larger pages: a hint. Not for the first of them, as little networks should
    // not pay for a large page.
    if (size_ > large_page) madvise(static_cast<char*>(data_) + large_page, size_ - large_page, MADV_HUGEPAGE);
#endif
#endif
  }
  ~Reservation() {
#ifdef _WIN32
    VirtualFree(data_, 0, MEM_RELEASE);
#else
    munmap(data_, size_);
#endif
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  void* data() { return data_; }
  size_t size() const { return size_; }
  // Little more than the first bytes is going to be used.
  void trim(size_t num_bytes) {
#ifndef _WIN32
    constexpr size_t page = size_t{1} << 16;  // no system has larger ones
    const size_t kept = std::bit_ceil(std::max(num_bytes, page));
    if (kept >= size_) return;
    munmap(static_cast<char*>(data_) + kept, size_ - kept);
    size_ = kept;
#else
    (void)num_bytes;
#endif
  }
  // The first bytes are going to be used.
  void commit(size_t num_bytes) {
#ifdef _WIN32
    if (num_bytes > committed_) {
      if (!VirtualAlloc(data_, num_bytes, MEM_COMMIT, PAGE_READWRITE)) throw std::bad_alloc();
      committed_ = num_bytes;
    }
#else
    (void)num_bytes;
#endif
  }

 private:
  static constexpr size_t large_page = size_t{1} << 21;
  size_t size_;
  void* data_;
#ifdef _WIN32
  size_t committed_ = 0;
#endif
};

}  // namespace substrax
