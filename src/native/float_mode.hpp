// Denormal numbers: XLA takes them for zero on the CPU, so queries and evaluation do.
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace substrax {

// While one exists, this thread reads and writes denormal numbers as zero.
class FlushDenormals {
#if defined(__SSE2__) || defined(_M_X64)
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | are_zero); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned flush_to_zero = 0x8000, are_zero = 0x0040;
  unsigned before_;
#elif defined(__aarch64__) && defined(__GNUC__)
 public:
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" ::"r"(before_ | flush_to_zero));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" ::"r"(before_)); }

 private:
  static constexpr unsigned long flush_to_zero = 1ul << 24;
  unsigned long before_;
#else
 public:
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif

 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace substrax
