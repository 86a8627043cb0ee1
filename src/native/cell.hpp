// The multi-resolution grid (EMR paper, eq. 1), as integers; see substrate/_cells.py.
//
// Level d = 0..D of the plane [-1, 1]^2 has cells (i, j), 0 <= i, j < 2^(d+1), with
// centre ((2i+1)/2^(d+1) - 1, (2j+1)/2^(d+1) - 1). Every centre is a dyadic rational,
// exact in float and different for different cells.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace substrax {

constexpr int max_depth = 20;

// 2^n, exactly; std::ldexp would be a call.
constexpr double power_of_two(int n) { return std::bit_cast<double>(uint64_t(1023 + n) << 52); }

struct Cell {
  int32_t level;
  int32_t i, j;
};

// Cells of the levels above `level`: the id of the first cell of that level.
constexpr int64_t first_id(int level) {
  return ((int64_t{1} << (2 * (level + 1))) - 4) / 3;
}

// Levels behind each other, rows of j within rows of i.
constexpr int64_t id_of(Cell c) {
  return first_id(c.level) + (int64_t{c.i} << (c.level + 1)) + c.j;
}

// Cells in reading order: a key grows with y, then with x, of the centre. It holds both
// in units of the finest grid, and tells the level too: by the zeros at its end.
class ReadingOrder {
 public:
  explicit ReadingOrder(int depth) : depth_(depth), bits_(depth + 2), unit_(power_of_two(-(depth + 1))) {}

  uint64_t key(Cell c) const {
    const int shift = depth_ - c.level;
    return (uint64_t(2 * int64_t{c.j} + 1) << shift << bits_) |
           (uint64_t(2 * int64_t{c.i} + 1) << shift);
  }
  Cell cell(uint64_t key) const {
    const uint64_t x = key & ((uint64_t{1} << bits_) - 1), y = key >> bits_;
    const int shift = std::countr_zero(x);
    return {depth_ - shift, int32_t(x >> (shift + 1)), int32_t(y >> (shift + 1))};
  }
  double x(uint64_t key) const { return place(key & ((uint64_t{1} << bits_) - 1)); }
  double y(uint64_t key) const { return place(key >> bits_); }
  // Equal for positions of equal height.
  uint64_t row(uint64_t key) const { return key >> bits_; }

 private:
  double place(uint64_t steps) const {
    return double(steps) * unit_ - 1.0;
  }
  int depth_, bits_;
  double unit_;  // the finest grid's
};

}  // namespace substrax
