// Activation functions of CPPNs and networks, in the two dialects of the field.
//
// In float32 every function gives the same bits as version 0.1, which was compiled by
// XLA for the CPU. Those bits are decided by three things, and all of them are written
// out here: the polynomials that XLA uses, the order of the operations, and where LLVM
// contracted a product and a sum to one fused operation with a single rounding. Hence
// this file must be compiled without contraction of the compiler's own choice
// (-ffp-contract=off) and without fast-math, and `fused` stands wherever 0.1 rounded
// once. Callers flush denormal numbers (FTZ and DAZ), as XLA does.
//
// All float functions are free of branches: compilers turn loops over them into vector
// code. Comparisons are arranged so that a NaN passes through.
//
// In float64 the functions of the standard library are used, by the same formulas.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace substrax {

// The order is part of the file format: new names are appended, none is moved.
enum class Activation : int {
  identity,
  tanh,
  sigmoid,
  sin,
  gauss,
  abs,
  square,
  cube,
  step,
  relu,
  cos,
  exp,
  log,
  inv,
  clamped,
  hat,
  softplus,
  elu,
  selu,
  lelu,
};

inline constexpr int num_activations = 20;

namespace activation_detail {

// a * b + c with one rounding.
[[gnu::always_inline]] inline float fused(float a, float b, float c) {
  return std::fma(a, b, c);
}

// The smaller or larger of two. A NaN in `z` is kept, as XLA does; std::min and std::max
// do so in one order of their arguments only.
template <class Real>
[[gnu::always_inline]] inline Real at_most(Real z, Real bound) {
  return z > bound ? bound : z;
}

template <class Real>
[[gnu::always_inline]] inline Real at_least(Real z, Real bound) {
  return z < bound ? bound : z;
}

template <class Real>
[[gnu::always_inline]] inline Real clip(Real z, Real bound) {
  // By the magnitude: two comparisons in a row GCC would turn into a web of masks.
  return std::copysign(at_most(std::fabs(z), bound), z);
}

// The larger of z and 0; +0 for -0, as in XLA.
template <class Real>
[[gnu::always_inline]] inline Real positive_part(Real z) {
  return z <= Real(0) ? Real(0) : z;
}

// ---- float32: XLA's functions ------------------------------------------------------

// e^z by the polynomial of Cephes' expf, as XLA's GenerateVF32Exp: z = n log(2) + r,
// e^z = 2^n e^r. XLA clips z; here callers do, to -87.8 (as XLA, where e^z is 0) and 88,
// because most of them need only one of the two bounds, or none.
[[gnu::always_inline]] inline float exponential_of_clipped(float z) {
  const float n = std::floor(fused(z, 1.44269504088896341f, 0.5f));
  // log(2) in two parts, the first with so few bits that its product with n is exact.
  float r = fused(-0.693359375f, n, z);
  r = fused(2.12194440e-4f, n, r);
  float sum = fused(r, 1.9875691500e-4f, 1.3981999507e-3f);
  sum = fused(sum, r, 8.3334519073e-3f);
  sum = fused(sum, r, 4.1665795894e-2f);
  sum = fused(sum, r, 1.6666665459e-1f);
  sum = fused(sum, r, 5.0000001201e-1f);
  sum = 1.0f + fused(sum, r * r, r);
  // 2^n by its bits, and 0 for n = -127: beyond 2^23 the last bits of a float count
  // ones, and the shift drops all others.
  const float counter = n + (127.0f + 8388608.0f);
  return sum * std::bit_cast<float>(std::bit_cast<std::uint32_t>(counter) << 23);
}

// e^z for z up to 88.
[[gnu::always_inline]] inline float exponential_up_to_88(float z) {
  return exponential_of_clipped(at_least(z, -87.8f));
}

// Natural logarithm of a finite positive z by the polynomial of Cephes' logf, as XLA's
// GenerateVF32Log: z = 2^e (1 + x) with 1 + x from sqrt(1/2) to sqrt(2).
[[gnu::always_inline]] inline float logarithm_of_finite(float z) {
  constexpr std::int32_t bits_of_sqrt_half = 0x3f3504f3;
  const std::int32_t bits = std::bit_cast<std::int32_t>(z);
  const std::int32_t exponent = (bits - bits_of_sqrt_half) >> 23;
  const float e = static_cast<float>(exponent);
  const float x = std::bit_cast<float>(bits - (exponent << 23)) - 1.0f;
  const float x2 = x * x;
  const float x3 = x2 * x;
  float y = fused(x, 7.0376836292e-2f, -1.1514610310e-1f);
  float y1 = fused(x, -1.2420140846e-1f, 1.4249322787e-1f);
  float y2 = fused(x, 2.0000714765e-1f, -2.4999993993e-1f);
  y = fused(y, x, 1.1676998740e-1f);
  y1 = fused(y1, x, -1.6668057665e-1f);
  y2 = fused(y2, x, 3.3333331174e-1f);
  y = fused(y, x3, y1);
  y = fused(y, x3, y2);
  y = fused(y, x3, -2.12194440e-4f * e);
  // The products below are exact, so that fusing them would change nothing.
  return ((x - 0.5f * x2) + y) + 0.693359375f * e;
}

// The logarithm of z, and of at least 1e-7; infinity and NaN are kept.
[[gnu::always_inline]] inline float bounded_logarithm(float z) {
  const float result = logarithm_of_finite(at_least(z, 1e-7f));
  return z < std::numeric_limits<float>::infinity() ? result : z;
}

// log(1 + z) for z >= 0 up to e^60, as XLA's Log1p: Cephes' rational function near 0,
// which a NaN takes, too.
[[gnu::always_inline]] inline float logarithm_of_one_plus(float z) {
  float denominator = z + 1.5062909083469192043167e1f;
  denominator = fused(denominator, z, 8.3047565967967209469434e1f);
  denominator = fused(denominator, z, 2.2176239823732856465394e2f);
  denominator = fused(denominator, z, 3.0909872225312059774938e2f);
  denominator = fused(denominator, z, 2.1642788614495947685003e2f);
  denominator = fused(denominator, z, 6.0118660497603843919306e1f);
  float numerator = fused(4.5270000862445199635215e-5f, z, 4.9854102823193375972212e-1f);
  numerator = fused(numerator, z, 6.5787325942061044846969e0f);
  numerator = fused(numerator, z, 2.9911919328553073277375e1f);
  numerator = fused(numerator, z, 6.0949667980987787057556e1f);
  numerator = fused(numerator, z, 5.7112963590585538103336e1f);
  numerator = fused(numerator, z, 2.0039553499201281259648e1f);
  const float z2 = z * z;
  const float small = z + fused(-0.5f, z2, (z * z2) * (numerator / denominator));
  const float large = logarithm_of_finite(z + 1.0f);
  return z >= 0.41421356237309504880f ? large : small;
}

// tanh(x) for x up to `tangent_bound`, where it is exactly 1, by Eigen's rational
// function, as XLA's EmitFastTanh.
inline constexpr float tangent_bound = 7.99881172180175781f;

[[gnu::always_inline]] inline float tangent_of_clipped(float x) {
  const float x2 = x * x;
  float numerator = fused(x2, -2.76076847742355e-16f, 2.00018790482477e-13f);
  numerator = fused(x2, numerator, -8.60467152213735e-11f);
  numerator = fused(x2, numerator, 5.12229709037114e-08f);
  numerator = fused(x2, numerator, 1.48572235717979e-05f);
  numerator = fused(x2, numerator, 6.37261928875436e-04f);
  numerator = fused(x2, numerator, 4.89352455891786e-03f);
  numerator = x * numerator;
  float denominator = fused(x2, 1.19825839466702e-06f, 1.18534705686654e-04f);
  denominator = fused(x2, denominator, 2.26843463243900e-03f);
  denominator = fused(x2, denominator, 4.89352518554385e-03f);
  return std::fabs(x) < 0.0004f ? x : numerator / denominator;
}

[[gnu::always_inline]] inline float hyperbolic_tangent(float z) {
  return tangent_of_clipped(clip(z, tangent_bound));
}

// 1 / (1 + e^-z). From e^87.4 on the quotient is denormal, which is flushed to 0: beyond
// the bound there is nothing to tell apart.
[[gnu::always_inline]] inline float logistic(float z) {
  return 1.0f / (1.0f + exponential_of_clipped(-clip(z, 87.8f)));
}

// e^z - 1 for z <= 0, as XLA's EmitExpm1: tanh(z/2) (e^z + 1) near 0. For z > 0 it is
// nothing in particular. The tangent is taken where its argument is small, so that it
// need not be clipped.
[[gnu::always_inline]] inline float exponential_minus_one(float z) {
  const float power = exponential_up_to_88(z);
  const float half = z * 0.5f;
  const float product = tangent_of_clipped(half) * (power + 1.0f);
  const float small = half == 0.0f ? z : product;
  return std::fabs(z) > 0.5f ? power - 1.0f : small;
}

// pi / scale as a sum of three floats, the first two with few significant bits, so that
// their products with a small integer are exact (Cody & Waite's range reduction).
struct PartsOfPi {
  float high, middle, low;
};

constexpr PartsOfPi parts_of_pi(double scale) {
  constexpr std::uint32_t mask = 0xfffff000;
  double rest = std::numbers::pi / scale;
  const float high = std::bit_cast<float>(
      std::bit_cast<std::uint32_t>(static_cast<float>(rest)) & mask);
  rest = rest - static_cast<double>(high);
  const float middle = std::bit_cast<float>(
      std::bit_cast<std::uint32_t>(static_cast<float>(rest)) & mask);
  return {high, middle, static_cast<float>(rest - static_cast<double>(middle))};
}

// sin(scale z), or cos(scale z) if `is_quarter`: 0.1's own polynomial.
//
// One exception to "the same bits": networks of 0.1 whose batch had both sine and cosine
// shared the number of turns between the two, and a shared product was rounded, not
// fused. That shows from |z| = 25165824 on, where sin(z) has long lost its meaning.
template <int scale, bool is_quarter>
[[gnu::always_inline]] inline float sine(float z) {
  constexpr PartsOfPi pi = parts_of_pi(scale);
  constexpr float turns_per_unit = static_cast<float>(scale / std::numbers::pi);
  // cos(t) = sin(t + pi/2): the nearest odd multiple of pi/2 is subtracted instead.
  const float turns = z * turns_per_unit;
  const float nearest = fused(z, turns_per_unit, 0.5f);
  const float whole = std::floor(is_quarter ? turns : nearest);
  const float k = is_quarter ? whole + 0.5f : whole;
  float r = fused(-k, pi.high, z);
  r = fused(-k, pi.middle, r);
  r = fused(-k, pi.low, r);
  r = r * static_cast<float>(scale);
  const float r2 = r * r;
  float sum = fused(2.6083159809786593541503e-06f, r2, -0.0001981069071916863322258f);
  sum = fused(sum, r2, 0.00833307858556509017944336f);
  sum = fused(sum, r2, -0.166666597127914428710938f);
  const float s = fused(r * r2, sum, r);
  // XLA added the two halves first, and `whole` to their sum; it matters from 2^23 on.
  const float m = (is_quarter ? whole + 1.0f : whole) * 0.5f;
  return m != std::floor(m) ? -s : s;
}

// ---- float64: the standard library -------------------------------------------------

inline double exponential_of_clipped(double z) { return std::exp(z); }
inline double exponential_up_to_88(double z) { return std::exp(z); }
inline double bounded_logarithm(double z) { return std::log(at_least(z, 1e-7)); }
inline double logarithm_of_one_plus(double z) { return std::log1p(z); }
inline double logistic(double z) { return 1.0 / (1.0 + std::exp(-z)); }
inline double exponential_minus_one(double z) { return std::expm1(z); }

inline double hyperbolic_tangent(double z) {
  const double size = std::fabs(z);
  const double small = std::expm1(size * 2.0);
  const double large = 1.0 - 2.0 / (std::exp(size * 2.0) + 1.0);
  return std::copysign(size > 0.5 ? large : small / (small + 2.0), z);
}

template <int scale, bool is_quarter>
inline double sine(double z) {
  const double argument = z * scale;
  return is_quarter ? std::cos(argument) : std::sin(argument);
}

// ---- the functions of both dialects ------------------------------------------------

// log(1 + e^z) without overflow, as jax.nn.softplus.
template <class Real>
[[gnu::always_inline]] inline Real soft_plus(Real z) {
  return positive_part(z) + logarithm_of_one_plus(exponential_up_to_88(-std::fabs(z)));
}

// 1 / z, and 0 where that does not exist or is not finite.
template <class Real>
[[gnu::always_inline]] inline Real inverse(Real z) {
  const Real divisor = z == Real(0) ? Real(1) : z;
  const Real quotient = Real(1) / divisor;
  return std::fabs(z) > std::numeric_limits<Real>::min() ? quotient : Real(0);
}

// Functions that both dialects agree on.
template <Activation A, class Real>
[[gnu::always_inline]] inline Real apply_shared(Real z) {
  if constexpr (A == Activation::abs) {
    return std::fabs(z);
  } else if constexpr (A == Activation::square) {
    return z * z;
  } else if constexpr (A == Activation::cube) {
    return z * z * z;
  } else if constexpr (A == Activation::step) {
    return z > Real(0) ? Real(1) : Real(0);
  } else if constexpr (A == Activation::relu) {
    return positive_part(z);
  } else if constexpr (A == Activation::log) {
    return bounded_logarithm(z);
  } else if constexpr (A == Activation::inv) {
    return inverse(z);
  } else if constexpr (A == Activation::clamped) {
    return clip(z, Real(1));
  } else if constexpr (A == Activation::hat) {
    return positive_part(Real(1) - std::fabs(z));
  } else if constexpr (A == Activation::elu) {
    return z > Real(0) ? z : exponential_minus_one(z);
  } else if constexpr (A == Activation::selu) {
    const Real negative =
        Real(1.6732632423543772848170429916717) * exponential_minus_one(z);
    return Real(1.0507009873554804934193349852946) * (z > Real(0) ? z : negative);
  } else if constexpr (A == Activation::lelu) {
    return z > Real(0) ? z : z * Real(0.005);
  } else {
    static_assert(A == Activation::identity);
    return z;
  }
}

// neat-python scales arguments and clips them.
template <Activation A, class Real>
[[gnu::always_inline]] inline Real apply_neat_python(Real z) {
  if constexpr (A == Activation::tanh) {
    return hyperbolic_tangent(z * Real(2.5));  // the clip to +-60 changes nothing
  } else if constexpr (A == Activation::sigmoid) {
    return Real(1) / (Real(1) + exponential_of_clipped(-clip(z * Real(5), Real(60))));
  } else if constexpr (A == Activation::sin) {
    return sine<5, false>(clip(z, Real(12)));
  } else if constexpr (A == Activation::cos) {
    return sine<5, true>(clip(z, Real(12)));
  } else if constexpr (A == Activation::gauss) {
    const Real clipped = clip(z, Real(3.4));
    return exponential_of_clipped(clipped * clipped * Real(-5));
  } else if constexpr (A == Activation::exp) {
    return exponential_of_clipped(clip(z, Real(60)));
  } else if constexpr (A == Activation::softplus) {
    return logarithm_of_one_plus(exponential_of_clipped(clip(z * Real(5), Real(60)))) * Real(0.2);
  } else {
    return apply_shared<A>(z);
  }
}

template <Activation A, class Real>
[[gnu::always_inline]] inline Real apply_plain(Real z) {
  if constexpr (A == Activation::tanh) {
    return hyperbolic_tangent(z);
  } else if constexpr (A == Activation::sigmoid) {
    return logistic(z);
  } else if constexpr (A == Activation::sin) {
    return sine<1, false>(z);
  } else if constexpr (A == Activation::cos) {
    return sine<1, true>(z);
  } else if constexpr (A == Activation::gauss) {
    return exponential_up_to_88(-(z * z));
  } else if constexpr (A == Activation::exp) {
    return exponential_up_to_88(at_most(z, Real(60)));
  } else if constexpr (A == Activation::softplus) {
    return soft_plus(z);
  } else {
    return apply_shared<A>(z);
  }
}

}  // namespace activation_detail

// The value of an activation function.
template <Activation A, bool is_neat_python, class Real>
[[gnu::always_inline]] inline Real apply(Real z) {
  if constexpr (is_neat_python) {
    return activation_detail::apply_neat_python<A>(z);
  } else {
    return activation_detail::apply_plain<A>(z);
  }
}

}  // namespace substrax
