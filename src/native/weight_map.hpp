// From what a CPPN says to the weight of a link; see substrate/_weights.py.
#pragma once

#include <algorithm>
#include <cmath>

namespace substrax {

struct WeightMapSettings {
  bool is_deadzone;
  double max_weight;
};

template <class T>
class WeightMap {
 public:
  explicit WeightMap(const WeightMapSettings& settings)
      : is_deadzone_(settings.is_deadzone),
        scale_(is_deadzone_ ? T(settings.max_weight / (1 - dead_zone)) : T(settings.max_weight)) {}

  T operator()(T u) const { return is_deadzone_ ? stretched(u) : clipped(u); }

  // Of n numbers; the choice of the map stays outside the loop, which is vectorised.
  void apply(const T* u, T* weight, int n) const {
    if (is_deadzone_) {
      for (int k = 0; k < n; ++k) weight[k] = stretched(u[k]);
    } else {
      for (int k = 0; k < n; ++k) weight[k] = clipped(u[k]);
    }
  }

 private:
  static constexpr double dead_zone = 0.2;  // outputs of at most this size mean no link

  T stretched(T u) const {
    const T size = std::fabs(u) - T(dead_zone);
    // NaN stays NaN: the comparison is false for it.
    return std::copysign((size < T(0) ? T(0) : size) * scale_, u);
  }
  T clipped(T u) const {
    const T w = u * scale_;
    const T low = w < -scale_ ? -scale_ : w;
    return low > scale_ ? scale_ : low;
  }

  bool is_deadzone_;
  T scale_;
};

}  // namespace substrax
