// Numbers that look random and are the same on every machine (splitmix64).
#pragma once

#include <cstdint>

namespace substrax::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int below(int n) { return int(next() % uint64_t(n)); }
  bool chance(double p) { return unit() < p; }
  double between(double low, double high) { return low + (high - low) * unit(); }

 private:
  double unit() { return double(next() >> 11) * 0x1p-53; }
  uint64_t state_;
};

}  // namespace substrax::test
