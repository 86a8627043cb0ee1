// A field: what a CPPN says about all cells, seen from one point; and the tests of cells
// that both rules share.
//
// Cells are looked at in quads: the four children of one cell, or of the root. Member m
// of quad (i, j) is cell (2i + m / 2, 2j + m % 2). What is known of the members of many
// quads comes as four rows, one for each member, `stride` apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cell.hpp"
#include "classes.hpp"
#include "float_mode.hpp"
#include "query.hpp"
#include "weight_map.hpp"

namespace substrax {

struct FixedPoint {
  double x, y;
  bool is_outgoing;  // links begin here; else they end here
};

// The parent (i, j) of a quad of some level; of the root, (0, 0).
struct Quad {
  int32_t i, j;
};

// A cell that a link leads to, or comes from.
template <class T>
struct FoundCell {
  Cell cell;
  T weight;
};

// var4 of the specification: the population variance over the members of a quad.
template <class T>
inline T block_variance(T a, T b, T c, T d) {
  const T mean = (((a + b) + c) + d) * T(0.25);
  a -= mean, b -= mean, c -= mean, d -= mean;
  return (((a * a + b * b) + c * c) + d * d) * T(0.25);
}

// Whether some value differs from both neighbours along one axis.
template <class T>
struct Candidate {
  Cell cell;
  T weight;
  bool differs_across, differs_along;  // from the sibling along x, along y
  bool passes;
};

template <class T>
class Field {
 public:
  static constexpr int quads_at_a_time = Query<T>::block / 4;

  Field(Query<T>& query, const WeightMap<T>& weight_map) : query_(query), weight_map_(weight_map) {}

  void look_from(const FixedPoint& point) {
    point_ = point;
    FlushDenormals flush;  // rows that depend on nothing are computed when it aims
    query_.aim(point.is_outgoing ? End::source : End::target);
    query_.fix(T(point.x), T(point.y));
  }
  const FixedPoint& point() const { return point_; }

  // Asks about the members of some quads of a level, at most `quads_at_a_time`.
  void ask(int level, const Quad* quads, int n) {
    stride_ = (n + 1) & ~1;  // four rows of whole vectors
    T *x = query_.x(Query<T>::block), *y = query_.y(Query<T>::block);
    const T step = T(power_of_two(-level)), half = step / 2;
    for (int q = 0; q < n; ++q) {
      const T cx = T(2 * quads[q].i + 1) * step - 1, cy = T(2 * quads[q].j + 1) * step - 1;
      x[q] = x[stride_ + q] = cx - half;
      x[2 * stride_ + q] = x[3 * stride_ + q] = cx + half;
      y[q] = y[2 * stride_ + q] = cy - half;
      y[stride_ + q] = y[3 * stride_ + q] = cy + half;
    }
    for (int m = 0; m < 4 && stride_ > n; ++m) x[m * stride_ + n] = y[m * stride_ + n] = 0;
    run(4 * stride_);
    query_.num_queries -= 4 * (stride_ - n);
  }
  int stride() const { return stride_; }
  const T* output() const { return query_.output(0); }
  const T* weight() const { return weight_; }
  bool is_permitted(int lane) const {  // by LEO, where there is one
    return query_.num_outputs() < 2 || query_.output(1)[lane] > T(0);
  }

  bool allows(int classes, const Cell& cell) const {
    const double y = centre(cell.j, cell.level);
    if (classes == upwards) return point_.is_outgoing ? y > point_.y : y < point_.y;
    const bool is_same = y == point_.y && centre(cell.i, cell.level) == point_.x;
    return point_.is_outgoing ? is_allowed(classes, point_.y, y, is_same)
                              : is_allowed(classes, y, point_.y, is_same);
  }
  static double centre(int32_t k, int level) { return (2.0 * k + 1.0) * power_of_two(-(level + 1)) - 1.0; }

  // The band test (Risi & Stanley 2012): a candidate must differ from both neighbours
  // along x, or from both along y, by more than the threshold. Neighbours lie one side
  // away, also outside the plane, whether or not a cell exists there. One of each pair is
  // the sibling, whose weight was known; the other is asked for where that one differs.
  void test_band(std::span<Candidate<T>> candidates, T threshold) {
    test_axis(candidates, threshold, true);
    test_axis(candidates, threshold, false);
  }

 private:
  void run(int n) {
    FlushDenormals flush;
    query_.place(n);
    query_.run(0, n);
    weight_map_.apply(query_.output(0), weight_, n);
  }
  void test_axis(std::span<Candidate<T>> candidates, T threshold, bool is_across) {
    if (asked_.size() < candidates.size()) asked_.resize(candidates.size());
    size_t num = 0;
    for (size_t k = 0; k < candidates.size(); ++k) {
      const auto& c = candidates[k];
      asked_[num] = int32_t(k);  // overwritten by the next unless it counts
      num += size_t(!c.passes & (is_across ? c.differs_across : c.differs_along));
    }
    for (size_t begin = 0; begin < num; begin += Query<T>::block) {
      const int n = int(std::min(num - begin, size_t(Query<T>::block)));
      T *x = query_.x(Query<T>::block), *y = query_.y(Query<T>::block);
      for (int k = 0; k < n; ++k) {
        const Cell& c = candidates[size_t(asked_[begin + size_t(k)])].cell;
        // Away from the sibling: downwards for the first child, upwards for the second.
        // Centres are multiples of half a side, exact in either precision.
        const T side = T(power_of_two(-c.level)), half = side / 2;
        const T cx = T(2 * c.i + 1) * half - 1, cy = T(2 * c.j + 1) * half - 1;
        x[k] = is_across ? cx + (c.i & 1 ? side : -side) : cx;
        y[k] = is_across ? cy : cy + (c.j & 1 ? side : -side);
      }
      run(n);
      for (int k = 0; k < n; ++k) {
        auto& c = candidates[size_t(asked_[begin + size_t(k)])];
        c.passes = std::fabs(c.weight - weight_[k]) > threshold;
      }
    }
  }

  Query<T>& query_;
  const WeightMap<T>& weight_map_;
  FixedPoint point_{};
  int stride_ = 0;
  T weight_[Query<T>::block + 2 * Query<T>::lanes];
  std::vector<int32_t> asked_;  // numbers of candidates
};

}  // namespace substrax
