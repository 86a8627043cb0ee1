// Intervals: between which numbers a CPPN's answer lies, for all points of a box.
//
// An interval is a promise about the *kernel*: it holds the number that the kernel
// computes in its own precision, with its roundings. All is computed in double and
// widened outwards at each step by more than the kernel may be off by; see
// cppn/_interval.py, whose every step this follows. An interval that is unknown (an
// answer may overflow, or be no number) is infinite.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "activation.hpp"
#include "program.hpp"

namespace substrax {

struct Interval {
  double low, high;
  bool is_known() const { return low <= high; }  // false for NaN
};

// How far the kernel may be off in the precision of T.
template <class T>
struct Precision {
  static constexpr double epsilon = std::numeric_limits<T>::epsilon();
  static constexpr double tiny = std::numeric_limits<T>::min();
  static constexpr double steps = 32;  // last places by which a function may be off
  static constexpr double largest = double(std::numeric_limits<T>::max()) * (1 - steps * epsilon);

  static Interval unknown() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  static Interval widen(Interval z, double by = steps) {
    const double relative = by * epsilon, absolute = 4 * tiny;
    return {z.low - (std::fabs(z.low) * relative + absolute),
            z.high + (std::fabs(z.high) * relative + absolute)};
  }
  static Interval known(Interval z) {
    return z.low >= -largest && z.high <= largest ? z : unknown();
  }
};

inline Interval magnitude(Interval z) {
  return {std::max({z.low, -z.high, 0.0}), std::max(-z.low, z.high)};
}

template <class T>
class Bounds {
  using P = Precision<T>;

 public:
  // What the kernel may answer for arguments of an interval.
  static Interval activate(int32_t activation, bool is_neat_python, Interval z) {
    if (!z.is_known()) return P::unknown();
    return P::known(bound(Activation(activation), is_neat_python, z));
  }
  static Interval square(Interval z) {
    const Interval m = magnitude(z);
    return P::widen({m.low * m.low, m.high * m.high});
  }

 private:
  template <class F>
  static Interval increasing(Interval z, F function) {
    return P::widen({function(z.low), function(z.high)});
  }
  static Interval scaled(Interval z, double factor) {
    return P::widen({z.low * factor, z.high * factor}, 2);
  }
  static Interval clipped(Interval z, double bound) {
    // Widened, because the bound is rounded to the kernel's precision.
    return P::widen({std::clamp(z.low, -bound, bound), std::clamp(z.high, -bound, bound)}, 2);
  }
  static double logistic(double z) { return 1.0 / (1.0 + std::exp(-z)); }
  static double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))); }
  static double elu(double z) { return z > 0 ? z : std::expm1(z); }

  static Interval gauss(Interval z, double scale) {
    const Interval s = scaled(square(z), scale);
    return P::widen({std::exp(-s.high), std::exp(-s.low)});
  }
  static Interval sine(Interval z, double scale, bool is_cosine) {
    const Interval a = P::widen(scaled(z, scale), 8);
    const double first = is_cosine ? std::cos(a.low) : std::sin(a.low);
    const double last = is_cosine ? std::cos(a.high) : std::sin(a.high);
    const double peak = is_cosine ? 0.0 : std::numbers::pi / 2;
    // Whether top + 2 pi n lies inside. A hair too early or too late is no matter: then
    // an end is as extreme.
    auto holds = [&](double top) {
      constexpr double turn = 2 * std::numbers::pi;
      return std::ceil((a.low - top) / turn) <= std::floor((a.high - top) / turn);
    };
    const double slack = P::steps * P::epsilon;
    const Interval result = {(holds(peak + std::numbers::pi) ? -1.0 : std::min(first, last)) - slack,
                             (holds(peak) ? 1.0 : std::max(first, last)) + slack};
    // Beyond this the range reduction of the kernel's float sine is not relied upon.
    constexpr double max_turns = 32768.0;
    if (sizeof(T) == 4 && !(a.low >= -max_turns && a.high <= max_turns)) return P::unknown();
    return result;
  }
  static Interval inverse(Interval z) {
    // Arguments up to `tiny` give 0, and larger ones no more than 1/tiny.
    const double most = 1 / P::tiny;
    if (z.low > P::tiny || z.high < -P::tiny) return P::widen({1.0 / z.high, 1.0 / z.low});
    return P::widen({-most, most});
  }
  static Interval logarithm(Interval z) {
    const double floor = double(T(1e-7)), slack = P::steps * P::epsilon;
    // Around 1, where the logarithm is 0, relative errors are not promised.
    return P::widen({std::log(std::max(z.low, floor)) - slack, std::log(std::max(z.high, floor)) + slack});
  }
  static Interval hat(Interval z) {
    const Interval m = magnitude(z);
    return P::widen({std::max(0.0, 1.0 - m.high), std::max(0.0, 1.0 - m.low)});
  }
  static double selu(double z) {
    return 1.0507009873554804934193349852946 *
           (z > 0 ? z : 1.6732632423543772848170429916717 * std::expm1(z));
  }

  static Interval bound(Activation activation, bool is_neat_python, Interval z) {
    const auto arguments = [&](double scale, double clip) {
      return is_neat_python ? clipped(scaled(z, scale), clip) : z;
    };
    switch (activation) {
      case Activation::identity: return z;
      case Activation::tanh: return increasing(arguments(2.5, 60.0), [](double a) { return std::tanh(a); });
      case Activation::sigmoid: return increasing(arguments(5.0, 60.0), logistic);
      case Activation::sin: return is_neat_python ? sine(clipped(z, 12.0), 5.0, false) : sine(z, 1.0, false);
      case Activation::cos: return is_neat_python ? sine(clipped(z, 12.0), 5.0, true) : sine(z, 1.0, true);
      case Activation::gauss: return is_neat_python ? gauss(clipped(z, 3.4), 5.0) : gauss(z, 1.0);
      case Activation::abs: return magnitude(z);
      case Activation::square: return square(z);
      case Activation::cube: return increasing(z, [](double a) { return a * a * a; });
      case Activation::step: return {double(z.low > 0), double(z.high > 0)};
      case Activation::relu: return {std::max(z.low, 0.0), std::max(z.high, 0.0)};
      case Activation::clamped: return {std::clamp(z.low, -1.0, 1.0), std::clamp(z.high, -1.0, 1.0)};
      case Activation::exp:
        if (is_neat_python) return increasing(clipped(scaled(z, 1.0), 60.0), [](double a) { return std::exp(a); });
        return increasing(z, [](double a) { return std::exp(std::min(a, 60.0)); });
      case Activation::log: return logarithm(z);
      case Activation::inv: return inverse(z);
      case Activation::hat: return hat(z);
      case Activation::softplus:
        if (is_neat_python) return increasing(arguments(5.0, 60.0), [](double a) { return softplus(a) * 0.2; });
        return increasing(z, softplus);
      case Activation::elu: return increasing(z, elu);
      case Activation::selu: return increasing(z, selu);
      case Activation::lelu: return increasing(z, [](double a) { return a > 0 ? a : a * 0.005; });
    }
    return P::unknown();
  }
};

// Two corners of the moving end's box, both ends within the plane.
struct Box {
  double low_x, low_y, high_x, high_y;
};

// The program of one genome, run on intervals instead of numbers.
template <class T>
class Enclosure {
  using P = Precision<T>;

 public:
  explicit Enclosure(const Programs<T>& programs) : programs_(programs) {}

  // Bounds of the CPPN's first output over all links between two boxes.
  Interval output(int genome, const Box& source, const Box& target) {
    const int num_inputs = programs_.num_inputs(), num_rows = programs_.num_rows[genome];
    slots_.resize(size_t(num_inputs + num_rows));
    for (int s = 0; s < num_inputs; ++s)
      slots_[size_t(s)] = coordinate(Coordinate(programs_.coordinates[s]), source, target);
    for (int k = 0; k < num_rows; ++k)
      slots_[size_t(num_inputs + k)] = row(programs_.first_row[genome] + k);
    const Interval u = slots_[size_t(programs_.output_slot[size_t(genome) * programs_.num_outputs])];
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return u.is_known() ? u : Interval{-infinity, infinity};
  }

 private:
  static Interval coordinate(Coordinate c, const Box& source, const Box& target) {
    const auto axis = [](double low, double high) { return P::widen({low, high}, 0); };
    const Interval x1 = axis(source.low_x, source.high_x), y1 = axis(source.low_y, source.high_y);
    const Interval x2 = axis(target.low_x, target.high_x), y2 = axis(target.low_y, target.high_y);
    const Interval dx = P::widen({x2.low - x1.high, x2.high - x1.low}, 2);
    const Interval dy = P::widen({y2.low - y1.high, y2.high - y1.low}, 2);
    switch (c) {
      case Coordinate::x1: return x1;
      case Coordinate::y1: return y1;
      case Coordinate::x2: return x2;
      case Coordinate::y2: return y2;
      case Coordinate::bias: return {1.0, 1.0};
      case Coordinate::dx: return dx;
      case Coordinate::dy: return dy;
      case Coordinate::distance: break;
    }
    const Interval x = Bounds<T>::square(dx), y = Bounds<T>::square(dy);
    return P::widen({std::sqrt(std::max(x.low + y.low, 0.0)), std::sqrt(x.high + y.high)});
  }
  Interval row(int r) const {
    Interval sum = {double(programs_.bias[r]), double(programs_.bias[r])};
    double size = std::fabs(sum.low);
    for (int f = 0; f < fan_in; ++f) {
      const double w = double(programs_.weight[size_t(r) * fan_in + f]);
      if (w == 0) continue;
      const Interval v = slots_[size_t(programs_.source[size_t(r) * fan_in + f])];
      if (!v.is_known()) return P::unknown();
      sum.low += w * (w > 0 ? v.low : v.high);
      sum.high += w * (w > 0 ? v.high : v.low);
      // A weight below `tiny` may be taken for 0.
      size += (std::fabs(w) + P::tiny / P::epsilon) * std::max(-v.low, v.high);
    }
    // Twice what so many multiplications and additions can do.
    const double slack = size * (2 * (fan_in + 2) * P::epsilon) + 8 * P::tiny;
    const Interval z = P::known({sum.low - slack, sum.high + slack});
    return Bounds<T>::activate(programs_.activation[r], programs_.is_neat_python, z);
  }

  const Programs<T>& programs_;
  std::vector<Interval> slots_;
};

// What `block_variance` computes at most for four numbers of an interval: Popoviciu's
// bound, and what rounding adds.
template <class T>
inline double largest_variance(Interval values) {
  constexpr double epsilon = Precision<T>::epsilon, tiny = Precision<T>::tiny;
  const double half = (values.high - values.low) / 2;
  const double mean_error = 4 * epsilon * std::max(-values.low, values.high) + tiny;
  return (half * half + mean_error * mean_error) * (1 + 16 * epsilon) + 4 * tiny;
}

}  // namespace substrax
