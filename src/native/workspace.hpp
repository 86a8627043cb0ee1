// What one thread works with while it wires genomes: the CPPN at hand, the positions
// found so far, and the network that comes of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "field.hpp"
#include "layout.hpp"
#include "network_writer.hpp"
#include "positions.hpp"
#include "program.hpp"
#include "query.hpp"
#include "refusal.hpp"
#include "scratch.hpp"
#include "weight_map.hpp"

namespace substrax {

// What one thread may take, in bytes.
struct Limits {
  int64_t positions;  // while the positions of one genome are numbered and sorted
  int64_t quadtree;   // for the quadtree of one field
  int64_t links;      // for links of one genome before it is known which of them stay
};

template <class T>
struct Workspace {
  Workspace(const Programs<T>& programs, const Layout& layout, const WeightMap<T>& weight_map, int depth,
            const Limits& limits, const OpenScratch& open_scratch, const std::atomic<bool>& stop)
      : programs(programs),
        layout(layout),
        weight_map(weight_map),
        limits(limits),
        open_scratch(open_scratch),
        query(programs, stop),
        field(query, this->weight_map),
        positions(depth, layout) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void begin(int genome) {
    query.take(genome);
    positions.clear();
  }
  FixedPoint terminal_point(int terminal, bool is_outgoing) const {
    return {layout.x(terminal), layout.y(terminal), is_outgoing};
  }
  FixedPoint position_point(int position) const {
    const uint64_t key = positions.key(position);
    return {positions.order().x(key), positions.order().y(key), true};
  }
  void check_positions(int64_t num) const {
    constexpr int64_t position_bytes = 256;  // while it is numbered and sorted
    if (num * position_bytes > limits.positions) throw Refusal{RefusalKind::too_many_positions, num};
  }

  const Programs<T>& programs;
  const Layout& layout;
  const WeightMap<T> weight_map;
  const Limits limits;
  const OpenScratch& open_scratch;
  Query<T> query;
  Field<T> field;
  Positions positions;
};

// Outputs that nothing but unfed outputs leads to are fed by nobody; nodes of other kinds
// are found from an input, or from a node that was. Only where an output lies on a cell
// can it be the source of a link.
class FedOutputs {
 public:
  explicit FedOutputs(const Layout& layout) : layout_(layout) { clear(); }

  void clear() {
    is_fed_.assign(size_t(layout_.num_outputs), 0);
    between_.clear();
  }
  // A link into an output; `source_terminal` is -1 for hidden nodes.
  void note(int source_terminal, int target_terminal) {
    if (source_terminal < layout_.num_inputs) {
      is_fed_[size_t(target_terminal - layout_.num_inputs)] = 1;
    } else {
      between_.push_back({source_terminal - layout_.num_inputs, target_terminal - layout_.num_inputs});
    }
  }
  void close() {
    for (bool changes = true; changes;) {
      changes = false;
      for (auto [s, t] : between_) {
        if (is_fed_[size_t(s)] && !is_fed_[size_t(t)]) is_fed_[size_t(t)] = changes = true;
      }
    }
  }
  bool is_fed(int terminal) const {
    return terminal < layout_.num_inputs || is_fed_[size_t(terminal - layout_.num_inputs)];
  }

 private:
  struct Pair {
    int source, target;
  };
  const Layout& layout_;
  std::vector<uint8_t> is_fed_;
  std::vector<Pair> between_;
};

}  // namespace substrax
