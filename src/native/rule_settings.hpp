// The settings of the rules; what they mean is said in rule_emr.hpp, rule_es.hpp and
// rule_fixed.hpp. A file of their own, because who hands them over needs nothing more.
#pragma once

#include <cstdint>
#include <span>

namespace substrax {

struct EmrSettings {
  int depth, initial_depth, rounds;
  int classes;  // of hidden-to-hidden links that the configuration allows
  double variance_threshold, weight_threshold, band_threshold;
  bool is_weight_field;  // take the variance of the weight, not of the output
  bool is_recovering;
  bool is_eager;  // look at every cell, as the paper does
};

struct EsSettings {
  int depth, initial_depth, iteration_level;
  double division_threshold, variance_threshold, band_threshold;
  bool is_eager;  // look at every cell first, as the EMR paper does
};

struct FixedSettings {
  std::span<const double> point;           // (x, y) of inputs, outputs, hidden nodes
  std::span<const int32_t> rank;           // of each node
  std::span<const int32_t> source, target; // of each possible link
  double weight_threshold;
};

}  // namespace substrax
