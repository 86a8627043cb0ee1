// The classes of links, by the heights of their ends (EMR paper, table 2); see
// substrate/_connections.py. A set of classes is a set of bits.
#pragma once

namespace substrax {

enum LinkClass : int { forward = 1, backward = 2, lateral = 4, self = 8 };

constexpr int upwards = forward;  // links from inputs and to outputs, always

// Whether a link between two ends is of one of the classes.
constexpr bool is_allowed(int classes, double source_y, double target_y, bool is_same) {
  if (source_y < target_y) return classes & forward;
  if (source_y > target_y) return classes & backward;
  return classes & (is_same ? self : lateral);
}

}  // namespace substrax
