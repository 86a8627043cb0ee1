// Networks of a population as arrays, behind each other; see network/_networks.py.
#pragma once

#include <cstdint>
#include <span>

namespace substrax {

template <class T>
struct Networks {
  int num_inputs, num_outputs;
  std::span<const int64_t> node_bounds, link_bounds;  // one more than there are networks
  std::span<const int32_t> node_activation, node_rank;
  std::span<const T> node_bias;
  std::span<const int32_t> link_source, link_target;
  std::span<const T> link_weight;
  bool is_neat_python;  // the dialect of activation functions
  bool is_acyclic;      // every link leads to a higher rank
  bool is_on_disk;      // links are pages of a file, which can be given back after use

  int size() const { return int(node_bounds.size()) - 1; }
};

// One of them.
template <class T>
struct Network {
  Network(const Networks<T>& all, int index)
      : num_inputs(all.num_inputs),
        num_outputs(all.num_outputs),
        num_nodes(int(all.node_bounds[size_t(index) + 1] - all.node_bounds[size_t(index)])),
        num_links(all.link_bounds[size_t(index) + 1] - all.link_bounds[size_t(index)]),
        activation(all.node_activation.data() + all.node_bounds[size_t(index)]),
        rank(all.node_rank.data() + all.node_bounds[size_t(index)]),
        bias(all.node_bias.data() + all.node_bounds[size_t(index)]),
        source(all.link_source.data() + all.link_bounds[size_t(index)]),
        target(all.link_target.data() + all.link_bounds[size_t(index)]),
        weight(all.link_weight.data() + all.link_bounds[size_t(index)]) {}

  int num_inputs, num_outputs, num_nodes;
  int64_t num_links;
  const int32_t *activation, *rank;
  const T* bias;
  const int32_t *source, *target;
  const T* weight;
};

}  // namespace substrax
