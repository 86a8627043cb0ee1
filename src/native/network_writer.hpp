// Writes the networks of a run of genomes: links and nodes, behind each other.
//
// Nodes of a network are inputs, outputs, then hidden ones in reading order. Links go to
// a buffer that is used again and again; when it is full, or the run is over, they are
// handed on, in the order of genomes.
#pragma once

#include <cstdint>
#include <algorithm>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "discovered.hpp"
#include "functions.hpp"
#include "layout.hpp"
#include "links.hpp"
#include "positions.hpp"

namespace substrax {

template <class T>
class NetworkWriter {
 public:
  NetworkWriter(const Layout& layout, const NodeSettings& settings, int64_t max_links, MemoryPool& memory)
      : links(memory), layout_(layout), settings_(settings), max_links_(max_links) {}

  // Called with the links so far when they are too many to keep.
  std::function<void(NetworkWriter&)> hand_on;

  Links<T> links;
  Nodes nodes;

  void clear() { links.clear(), nodes.clear(), first_link_ = 0; }
  bool is_full() const { return links.size() > max_links_; }

  void begin_network(int num_hidden) {
    first_link_ = links.size();
    num_links_ = 0;
    is_fed_.assign(size_t(layout_.num_terminals() + num_hidden), 0);
    seen_.clear();
  }
  // To be called every now and then while links are added.
  void check_room() {
    if (!is_full()) return;
    count_links();
    hand_on(*this);
    links.clear();
    first_link_ = 0;
  }
  // Adds a link that may have been found before: those at inputs and outputs on cells.
  void push_once(int32_t s, int32_t t, T w) {
    const bool is_at_terminal = s < layout_.num_terminals() || t < layout_.num_terminals();
    if (layout_.has_terminals_on_cells && is_at_terminal &&
        !seen_.insert((uint64_t(uint32_t(s)) << 32) | uint32_t(t)).second)
      return;
    links.push(s, t, w);
  }
  // Ends a network whose hidden nodes lie at cells, given in reading order.
  NetworkCounts end_network(const ReadingOrder& order, std::span<const uint64_t> hidden, int num_found) {
    const int num_terminals = layout_.num_terminals(), num = num_terminals + int(hidden.size());
    double* point = nodes.point.room(2 * num);
    std::copy(layout_.point.begin(), layout_.point.end(), point);
    for (size_t h = 0; h < hidden.size(); ++h) {
      double* p = point + 2 * (size_t(num_terminals) + h);
      p[0] = order.x(hidden[h]), p[1] = order.y(hidden[h]);
    }
    rank_by_height(point, nodes.rank.room(num), num);
    return end_nodes(num, num_found);
  }
  // Ends a network whose nodes were given.
  NetworkCounts end_network(std::span<const double> point, std::span<const int32_t> rank) {
    const int num = int(rank.size());
    std::copy(point.begin(), point.end(), nodes.point.room(2 * num));
    std::copy(rank.begin(), rank.end(), nodes.rank.room(num));
    return end_nodes(num, -1);
  }

 private:
  NetworkCounts end_nodes(int num, int num_found) {
    count_links();
    int32_t* activation = nodes.activation.room(num);
    for (int n = 0; n < num; ++n) {
      // Without biases a node that no link feeds yields 0, not activation(0): so has
      // PUREPLES it.
      if (n < layout_.num_inputs || (settings_.silences_unfed && !is_fed_[size_t(n)])) {
        activation[n] = identity_id;
      } else {
        activation[n] = n < layout_.num_terminals() ? settings_.output_activation : settings_.hidden_activation;
      }
    }
    nodes.activation.grow(num), nodes.rank.grow(num), nodes.point.grow(2 * num);
    return {num, num_links_, num_found};
  }
  void count_links() {
    const int32_t* target = links.target.data();
    for (int64_t l = first_link_; l < links.size(); ++l) is_fed_[size_t(target[l])] = 1;
    num_links_ += links.size() - first_link_;
    first_link_ = links.size();
  }
  // A node's rank is the number of its height among those that occur: links that run
  // upwards lead to higher ranks. Hidden nodes come sorted, terminals need not.
  void rank_by_height(const double* point, int32_t* rank, int num) {
    const int num_terminals = layout_.num_terminals();
    heights_.clear();
    for (int n = 0; n < num; ++n) {
      const double y = point[2 * n + 1];
      if (n > num_terminals && y == heights_.back()) continue;
      heights_.push_back(y);
    }
    std::sort(heights_.begin(), heights_.end());
    heights_.erase(std::unique(heights_.begin(), heights_.end()), heights_.end());
    const auto number = [&](double y) {
      return int32_t(std::lower_bound(heights_.begin(), heights_.end(), y) - heights_.begin());
    };
    for (int n = 0; n < num; ++n) {
      const bool is_as_before = n > num_terminals && point[2 * n + 1] == point[2 * n - 1];
      rank[n] = is_as_before ? rank[n - 1] : number(point[2 * n + 1]);
    }
  }

  const Layout& layout_;
  NodeSettings settings_;
  int64_t max_links_, first_link_ = 0, num_links_ = 0;
  std::vector<uint8_t> is_fed_;
  std::vector<double> heights_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace substrax
