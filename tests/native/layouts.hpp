// Where inputs and outputs lie: at the edges, on cells, or anywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../../src/native/cell.hpp"
#include "../../src/native/layout.hpp"

namespace substrax::test {

// The id of the cell whose centre a point is, or -1; by looking at all of its levels.
inline int64_t cell_at(double x, double y, int depth) {
  for (int level = 0; level <= depth; ++level) {
    const double scale = std::ldexp(1.0, level + 1), i = ((x + 1.0) * scale - 1.0) / 2, j = ((y + 1.0) * scale - 1.0) / 2;
    const bool is_centre = i == std::floor(i) && j == std::floor(j) && i >= 0 && j >= 0 && i < scale && j < scale;
    if (is_centre) return id_of({level, int32_t(i), int32_t(j)});
  }
  return -1;
}

// A layout that owns its arrays.
struct Terminals {
  int num_inputs;
  std::vector<double> point;
  std::vector<int64_t> cell;

  Terminals(int num_inputs, std::vector<double> points, int depth) : num_inputs(num_inputs), point(std::move(points)) {
    for (size_t t = 0; t < point.size(); t += 2) cell.push_back(cell_at(point[t], point[t + 1], depth));
  }
  Layout view() const {
    bool is_on_cell = false;
    for (int64_t c : cell) is_on_cell |= c >= 0;
    return {num_inputs, int(point.size()) / 2 - num_inputs, point, cell, is_on_cell};
  }
};

constexpr int num_layouts = 5;

inline Terminals layout(int which, int depth) {
  switch (which) {
    case 0: return {3, {-1, -1, 0, -1, 1, -1, 0, 1}, depth};                                 // at the edges
    case 1: return {2, {-0.9, -0.83, 0.77, -0.31, 0.2, 0.91, -0.61, 0.47}, depth};           // anywhere
    case 2: return {2, {-0.5, -0.5, 0.25, -0.75, 0.5, 0.5, -0.25, 0.75}, depth};             // on cells
    case 3: return {2, {-0.25, -0.25, 0.25, -0.75, 0.25, 0.25, -0.75, -0.25}, depth};        // cells above outputs
    default: return {2, {0.25, 0.25, -0.75, -0.75, -0.25, -0.25, 0.5, 0.5}, depth};          // an input above an output
  }
}

}  // namespace substrax::test
