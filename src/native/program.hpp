// CPPNs as straight-line programs; see cppn/_program.py, which compiles and checks them.
#pragma once

#include <cstdint>
#include <span>

namespace substrax {

constexpr int fan_in = 4;  // weighted values that one row adds up

enum class Coordinate : int32_t { x1, y1, x2, y2, bias, dx, dy, distance };

// The programs of a population. A row computes activation(bias + sum of weight * value);
// values live in slots: the CPPN's inputs first, then one for each row.
template <class T>
struct Programs {
  std::span<const int32_t> activation;   // of each row, an id
  std::span<const T> bias;               // of each row
  std::span<const int32_t> source;       // slots, fan_in for each row
  std::span<const T> weight;             // fan_in for each row
  std::span<const int32_t> first_row;    // of each genome
  std::span<const int32_t> num_rows;     // of each genome
  std::span<const int32_t> output_slot;  // num_outputs for each genome
  std::span<const int32_t> coordinates;  // what each input is
  int num_outputs;
  bool is_neat_python;  // the dialect of activation functions

  int num_genomes() const { return int(first_row.size()); }
  int num_inputs() const { return int(coordinates.size()); }
};

}  // namespace substrax
