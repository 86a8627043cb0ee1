// Where inputs and outputs lie; see substrate/_layout.py.
#pragma once

#include <cstdint>
#include <span>

namespace substrax {

struct Layout {
  int num_inputs, num_outputs;
  std::span<const double> point;          // (x, y) of inputs, then of outputs
  std::span<const int64_t> terminal_cell; // the id of the cell each of them is, or -1
  bool has_terminals_on_cells;

  int num_terminals() const { return num_inputs + num_outputs; }
  double x(int terminal) const { return point[size_t(2 * terminal)]; }
  double y(int terminal) const { return point[size_t(2 * terminal + 1)]; }
  bool is_output(int terminal) const { return terminal >= num_inputs; }

  // Which input or output a cell is, or -1.
  int terminal_at(int64_t cell_id) const {
    if (!has_terminals_on_cells) return -1;
    for (size_t t = 0; t < terminal_cell.size(); ++t)
      if (terminal_cell[t] == cell_id) return int(t);
    return -1;
  }
};

}  // namespace substrax
