// Programs of CPPNs: random ones, and one that is interesting at every depth.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../../src/native/activation.hpp"
#include "../../src/native/program.hpp"
#include "random.hpp"

namespace substrax::test {

using Coordinates = std::vector<int32_t>;
inline const Coordinates five{0, 1, 2, 3, 4}, eight{0, 1, 2, 3, 4, 5, 6, 7}, apart{5, 6, 4};

// Programs that own their arrays.
template <class T>
struct Population {
  Coordinates coordinates;
  int num_outputs;
  bool is_neat_python;
  std::vector<int32_t> activation{}, source{}, first_row{}, num_rows{}, output_slot{};
  std::vector<T> bias{}, weight{};

  Programs<T> view() const {
    return {activation, bias, source, weight, first_row, num_rows, output_slot, coordinates, num_outputs,
            is_neat_python};
  }
  int num_inputs() const { return int(coordinates.size()); }

  void begin_genome() {
    first_row.push_back(int32_t(bias.size()));
    num_rows.push_back(0);
  }
  struct Term {
    int slot;
    double weight;
  };
  // Adds a row to the last genome; the slot of its value.
  int add_row(Activation function, double row_bias, std::vector<Term> terms) {
    activation.push_back(int32_t(function));
    bias.push_back(T(row_bias));
    terms.resize(size_t(fan_in), Term{0, 0.0});
    for (const Term& term : terms) source.push_back(term.slot), weight.push_back(T(term.weight));
    return num_inputs() + num_rows.back()++;
  }
};

// Any functions, any slots, weights that are sometimes 0 or huge: answers may be anything,
// infinities and NaN included.
template <class T>
Population<T> random_population(Random& random, int num_genomes, const Coordinates& coordinates, int num_outputs,
                                bool is_neat_python) {
  Population<T> p{coordinates, num_outputs, is_neat_python};
  for (int g = 0; g < num_genomes; ++g) {
    p.begin_genome();
    const bool is_wild = random.chance(0.2);
    const int num_rows = 1 + random.below(8);
    for (int r = 0; r < num_rows; ++r) {
      const int num_slots = p.num_inputs() + r;
      std::vector<typename Population<T>::Term> terms;
      for (int f = random.below(fan_in + 1); f > 0; --f) {
        const double size = is_wild && random.chance(0.1) ? 1e20 : 3.0;
        terms.push_back({random.below(num_slots), random.chance(0.1) ? 0.0 : random.between(-size, size)});
      }
      const int function = is_wild ? random.below(num_activations) : random.below(5);
      p.add_row(Activation(function), random.between(-1.0, 1.0), terms);
    }
    const int num_slots = p.num_inputs() + num_rows;
    for (int o = 0; o < num_outputs; ++o)
      p.output_slot.push_back(random.chance(0.1) ? random.below(num_slots) : num_slots - 1 - random.below(1 + num_rows / 2));
  }
  return p;
}

// log of the squared distance between an end and a point: near it, and only there, cells
// vary as much at every level, however deep.
template <class T>
Population<T> needles(Random& random, int num_genomes) {
  Population<T> p{five, 1, false};
  for (int g = 0; g < num_genomes; ++g) {
    p.begin_genome();
    const double x = random.between(-0.5, 0.5), y = random.between(-0.5, 0.5);
    const auto log_distance = [&](int x_slot, int y_slot) {
      const int across = p.add_row(Activation::square, x, {{x_slot, 1.0}});
      const int along = p.add_row(Activation::square, y, {{y_slot, 1.0}});
      return p.add_row(Activation::log, 0.0, {{across, 1e7}, {along, 1e7}});
    };
    const int to = log_distance(2, 3), from = log_distance(0, 1);
    p.output_slot.push_back(p.add_row(Activation::identity, -0.5, {{to, 0.05}, {from, 0.05}}));
  }
  return p;
}

}  // namespace substrax::test
