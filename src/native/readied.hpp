// Networks that are evaluated again and again, for few samples at a time, as in a control
// task.
//
// Some networks at a time are one graph, a *chunk*. Its nodes have rows, in the order of
// evaluation: inputs, then level by level what depends on levels before alone; within a
// level, nodes with the same function stand together (a *run*), so that the function is
// called once for all of them.
//
// Bits are those of evaluator.hpp: a node's sum is its bias, then the products of its
// links, added one by one in the order of links, each rounded twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "functions.hpp"
#include "network.hpp"

namespace substrax {

template <class T>
class Readied {
 public:
  Readied(const Networks<T>& networks, int steps)
      : num_networks_(networks.size()),
        num_inputs_(networks.num_inputs),
        num_outputs_(networks.num_outputs),
        steps_(networks.is_acyclic ? 0 : steps) {
    std::array<ArrayFunction<T>, num_activations> functions;
    for (int a = 0; a < num_activations; ++a) functions[size_t(a)] = array_function<T>(a, networks.is_neat_python);
    link_first_.push_back(0);
    for (int first = 0, stop; first < num_networks_; first = stop) {
      // Many small networks share the calls of functions; their values stay in the cache.
      int64_t size = 0;
      for (stop = first; stop < num_networks_ && (stop == first || size < large_enough); ++stop)
        size += weight_of(Network<T>(networks, stop));
      add_chunk(networks, first, stop, functions);
    }
  }

  int num_networks() const { return num_networks_; }
  int num_inputs() const { return num_inputs_; }
  int num_outputs() const { return num_outputs_; }
  int most_nodes() const { return most_nodes_; }
  int num_chunks() const { return int(chunks_.size()); }
  // Without cycles, networks settle, and have no state.
  bool is_settled() const { return steps_ == 0; }
  // About how many nanoseconds one evaluation of all networks takes.
  int64_t cost(int64_t num_samples) const {
    return std::max(1, steps_) * ((num_samples + 7) / 8) * int64_t(source_.size() + 2 * bias_.size());
  }

  // What all calls of `run` are given: inputs (networks, samples, inputs) and outputs
  // (networks, samples, outputs); if there are cycles, states before and after (networks,
  // slots, samples).
  struct Call {
    const T* inputs;
    T* outputs;
    int64_t num_samples;
    const T* state;
    T* next;
    int64_t num_slots;
  };
  void run(int chunk, const Call& call, std::vector<T>& memory) const {
    const Chunk& c = chunks_[size_t(chunk)];
    if (call.num_samples == 1) return run_lanes<1>(c, call, 0, 1, memory);
    for (int64_t begin = 0; begin < call.num_samples; begin += 8) {
      const int n = int(std::min<int64_t>(8, call.num_samples - begin));
      if (n <= 4) run_lanes<4>(c, call, begin, n, memory);
      else run_lanes<8>(c, call, begin, n, memory);
    }
  }

 private:
  static constexpr int64_t large_enough = 1 << 14;  // links, and some for each node

  struct Run {
    int first_row, num;
    int64_t first_entry;
    ArrayFunction<T> function;
  };
  struct Chunk {
    int first, stop;  // networks
    int num_rows;
    size_t first_run, stop_run;
  };

  static int64_t weight_of(const Network<T>& n) { return n.num_links + 4 * n.num_nodes; }
  // Whole vectors, whatever the number of lanes: functions may go beyond the last row.
  static int round_up(int rows) { return (rows + 7) / 8 * 8; }

  // The longest path to each node; 0 for all of them where nothing settles.
  void find_levels(const Network<T>& n, std::vector<int>& level) const {
    level.assign(size_t(n.num_nodes), 0);
    if (!is_settled()) return;
    std::vector<int64_t> links(size_t(n.num_links));
    std::iota(links.begin(), links.end(), 0);
    const auto rank = [&](int64_t l) { return n.rank[n.source[l]]; };
    if (!std::is_sorted(links.begin(), links.end(), [&](int64_t a, int64_t b) { return rank(a) < rank(b); }))
      std::stable_sort(links.begin(), links.end(), [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
    for (int64_t l : links)
      if (n.target[l] >= n.num_inputs) {
        const int after = n.source[l] < n.num_inputs ? 1 : level[size_t(n.source[l])] + 1;
        level[size_t(n.target[l])] = std::max(level[size_t(n.target[l])], after);
      }
  }

  void add_chunk(const Networks<T>& networks, int first, int stop,
                 const std::array<ArrayFunction<T>, num_activations>& functions) {
    struct Node {
      int level, activation, network, node;
    };
    std::vector<Node> nodes;
    std::vector<int> level;
    for (int g = first; g < stop; ++g) {
      const Network<T> n(networks, g);
      most_nodes_ = std::max(most_nodes_, n.num_nodes);
      find_levels(n, level);
      for (int node = n.num_inputs; node < n.num_nodes; ++node)
        nodes.push_back({level[size_t(node)], n.activation[node], g, node});
    }
    std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
      return std::tie(a.level, a.activation) < std::tie(b.level, b.activation);
    });
    // Rows of all nodes of the chunk, by network.
    const int64_t base = networks.node_bounds[size_t(first)];
    std::vector<int> row(size_t(networks.node_bounds[size_t(stop)] - base));
    const auto at = [&](int g, int node) -> int& { return row[size_t(networks.node_bounds[size_t(g)] - base + node)]; };
    for (int g = first; g < stop; ++g)
      for (int i = 0; i < num_inputs_; ++i) at(g, i) = (g - first) * num_inputs_ + i;
    Chunk chunk{first, stop, round_up((stop - first) * num_inputs_), runs_.size(), 0};
    const int64_t first_entry = int64_t(bias_.size());
    for (size_t begin = 0, end; begin < nodes.size(); begin = end) {
      for (end = begin; end < nodes.size() && nodes[end].level == nodes[begin].level &&
                        nodes[end].activation == nodes[begin].activation;)
        ++end;
      runs_.push_back({chunk.num_rows, int(end - begin), first_entry + int64_t(begin),
                       functions[size_t(nodes[begin].activation)]});
      for (size_t k = begin; k < end; ++k) at(nodes[k].network, nodes[k].node) = chunk.num_rows + int(k - begin);
      chunk.num_rows += round_up(int(end - begin));
    }
    chunk.stop_run = runs_.size();
    add_links(networks, nodes, at);
    for (int g = first; g < stop; ++g) {
      for (int o = 0; o < num_outputs_; ++o) output_row_.push_back(at(g, num_inputs_ + o));
      if (is_settled()) continue;
      node_first_.push_back(int64_t(node_row_.size()));
      const int num = int(networks.node_bounds[size_t(g) + 1] - networks.node_bounds[size_t(g)]);
      for (int node = 0; node < num; ++node) node_row_.push_back(at(g, node));
    }
    chunks_.push_back(chunk);
  }
  // Links of the nodes of a chunk, node by node; each node's in their order.
  template <class Nodes, class At>
  void add_links(const Networks<T>& networks, const Nodes& nodes, At&& at) {
    const int64_t base_entry = int64_t(bias_.size());
    std::vector<int64_t> place;  // of each node of a network: its next link
    std::vector<std::vector<int64_t>> entry_of;
    const int first = nodes.empty() ? 0 : std::min_element(nodes.begin(), nodes.end(), [](auto& a, auto& b) {
                                            return a.network < b.network;
                                          })->network;
    for (size_t k = 0; k < nodes.size(); ++k) {
      const size_t g = size_t(nodes[k].network - first);
      if (entry_of.size() <= g) entry_of.resize(g + 1);
      const Network<T> n(networks, nodes[k].network);
      if (entry_of[g].empty()) entry_of[g].assign(size_t(n.num_nodes), -1);
      entry_of[g][size_t(nodes[k].node)] = base_entry + int64_t(k);
      bias_.push_back(n.bias[nodes[k].node]);
    }
    std::vector<int64_t> count(nodes.size(), 0);
    for (size_t g = 0; g < entry_of.size(); ++g) {
      const Network<T> n(networks, first + int(g));
      // Links into inputs carry nothing.
      for (int64_t l = 0; l < n.num_links; ++l)
        if (n.target[l] >= n.num_inputs) ++count[size_t(entry_of[g][size_t(n.target[l])] - base_entry)];
    }
    int64_t total = link_first_.back();
    place.reserve(nodes.size());
    for (int64_t num : count) place.push_back(total), link_first_.push_back(total += num);
    source_.resize(size_t(total)), weight_.resize(size_t(total));
    for (size_t g = 0; g < entry_of.size(); ++g) {
      const Network<T> n(networks, first + int(g));
      for (int64_t l = 0; l < n.num_links; ++l) {
        if (n.target[l] < n.num_inputs) continue;
        const size_t to = size_t(place[size_t(entry_of[g][size_t(n.target[l])] - base_entry)]++);
        source_[to] = at(first + int(g), n.source[l]), weight_[to] = n.weight[l];
      }
    }
  }

  template <int lanes>
  void run_lanes(const Chunk& chunk, const Call& call, int64_t begin, int n, std::vector<T>& memory) const {
    const size_t room = size_t(chunk.num_rows) * lanes + 8;
    if (memory.size() < 2 * room) memory.resize(2 * room);
    T *values = memory.data(), *after = values + room;
    const auto read = [&](T* row, const T* from, int64_t stride) {
      for (int k = 0; k < n; ++k) row[k] = from[k * stride];
      std::fill(row + n, row + lanes, T(0));
    };
    if (!is_settled())
      over_nodes(chunk, call, begin, [&](int row, int64_t place) {
        read(values + row * lanes, call.state + place, 1);
      });
    for (int g = chunk.first; g < chunk.stop; ++g)
      for (int i = 0; i < num_inputs_; ++i) {
        const size_t row = size_t((g - chunk.first) * num_inputs_ + i) * lanes;
        read(values + row, call.inputs + (g * call.num_samples + begin) * num_inputs_ + i, num_inputs_);
        if (!is_settled()) std::copy_n(values + row, lanes, after + row);
      }
    for (int k = 0; k < std::max(1, steps_); ++k) {
      T* to = is_settled() ? values : after;
      for (size_t r = chunk.first_run; r < chunk.stop_run; ++r) update<lanes>(runs_[r], values, to);
      if (!is_settled()) std::swap(values, after);
    }
    if (!is_settled())
      over_nodes(chunk, call, begin, [&](int row, int64_t place) {
        std::copy_n(values + row * lanes, n, call.next + place);
      });
    for (int g = chunk.first; g < chunk.stop; ++g)
      for (int o = 0; o < num_outputs_; ++o) {
        const T* row = values + size_t(output_row_[size_t(g * num_outputs_ + o)]) * lanes;
        T* to = call.outputs + (g * call.num_samples + begin) * num_outputs_ + o;
        for (int k = 0; k < n; ++k) to[k * num_outputs_] = row[k];
      }
  }
  // `use(row, place of its state)` for all nodes of a chunk.
  template <class Use>
  void over_nodes(const Chunk& chunk, const Call& call, int64_t begin, Use&& use) const {
    for (int g = chunk.first; g < chunk.stop; ++g) {
      const int64_t first = node_first_[size_t(g)];
      const int64_t stop = g + 1 < num_networks_ ? node_first_[size_t(g) + 1] : int64_t(node_row_.size());
      for (int64_t k = first; k < stop; ++k)
        use(node_row_[size_t(k)], (g * call.num_slots + k - first) * call.num_samples + begin);
    }
  }
  // All nodes of a run, read from `from` and written to `to`, which may be the same.
  template <int lanes>
  void update(const Run& run, const T* from, T* to) const {
    T* rows = to + size_t(run.first_row) * lanes;
    const int64_t* first = link_first_.data() + run.first_entry;
    for (int j = 0; j < run.num; ++j) {
      T sum[lanes];
      std::fill_n(sum, lanes, bias_[size_t(run.first_entry + j)]);
      for (int64_t l = first[j]; l < first[j + 1]; ++l) {
        const T* value = from + size_t(source_[size_t(l)]) * lanes;
        const T weight = weight_[size_t(l)];
        for (int k = 0; k < lanes; ++k) sum[k] = sum[k] + weight * value[k];
      }
      std::copy_n(sum, lanes, rows + size_t(j) * lanes);
    }
    if (run.function) run.function(rows, round_up(run.num * lanes));
  }

  int num_networks_, num_inputs_, num_outputs_, steps_, most_nodes_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Run> runs_;
  std::vector<T> bias_;                // of each node, in the order of evaluation
  std::vector<int64_t> link_first_;    // where its links begin; one more than there are
  std::vector<int32_t> source_;        // rows
  std::vector<T> weight_;
  std::vector<int32_t> output_row_;    // (networks, outputs)
  std::vector<int32_t> node_row_;      // of networks with cycles, behind each other
  std::vector<int64_t> node_first_;
};

}  // namespace substrax
