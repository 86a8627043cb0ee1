// What a discovery is asked for, besides a rule, and what it answers.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "buffer.hpp"
#include "link_store.hpp"
#include "weight_map.hpp"

namespace substrax {

struct NodeSettings {
  int32_t hidden_activation, output_activation;
  bool silences_unfed = true;  // a node that no link feeds yields 0, not activation(bias)
};

// The nodes of some networks, as columns.
struct Nodes {
  Buffer<int32_t> activation, rank;
  Buffer<double> point;  // (x, y)

  void clear() { activation.clear(), rank.clear(), point.clear(); }
};

// Of each network: its nodes and links, and the positions found before the clean-up.
struct NetworkCounts {
  int64_t num_nodes = 0, num_links = 0, num_found = 0;
};

// Networks of a population, as they are handed to Python.
template <class T>
struct Discovered {
  Discovered(int64_t limit_bytes, const OpenScratch& open_scratch, MemoryPool& memory)
      : links(limit_bytes, open_scratch, memory) {}

  LinkStore<T> links;
  std::vector<NetworkCounts> counts;  // of each genome
  std::deque<Nodes> nodes;            // of runs of genomes
  int64_t num_queries = 0;
};

struct DiscoverySettings {
  WeightMapSettings weight_map;
  NodeSettings nodes;
  int depth;
  int64_t memory_budget;
};

}  // namespace substrax
