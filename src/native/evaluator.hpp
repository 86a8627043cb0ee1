// Evaluation of one network for some samples at a time: settled or stepped.
//
// Bits: a node's sum is its bias, then the products of its links added one by one in the
// order of links, each rounded twice (no fused multiply-add), as XLA has it in this
// place. In which order nodes are taken changes nothing.
//
// Values of nodes are rows of `lanes` samples.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "functions.hpp"
#include "network.hpp"
#include "pages.hpp"
#include "refusal.hpp"

namespace substrax {

template <class T, int lanes>
class Evaluator {
 public:
  Evaluator(const Networks<T>& networks, int64_t max_sorted_links, const std::atomic<bool>& stop)
      : is_on_disk_(networks.is_on_disk), max_sorted_links_(max_sorted_links), stop_(stop) {
    for (int a = 0; a < num_activations; ++a)
      functions_[size_t(a)] = array_function<T>(a, networks.is_neat_python);
  }

  // The network that is evaluated from now on; `num_passes` is how often.
  void take(const Network<T>& network, int64_t num_passes, bool is_settled) {
    network_ = &network;
    fits_ = network.num_links <= max_sorted_links_;
    // In the order of links, as long as that order allows it, when there is one pass:
    // sorting them by target takes longer than that. Else sorted, if they fit.
    is_in_order_ = is_settled && (num_passes == 1 || !fits_);
    if (!is_in_order_ && fits_) sort_links();
    if (is_settled) sort_nodes();
    values_.resize(size_t(network.num_nodes) * lanes);
    next_.resize(is_settled ? 0 : values_.size());
  }
  T* row(int node) { return values_.data() + size_t(node) * lanes; }

  // Acyclic networks: each node once, when all that it adds up is there. The rows of
  // inputs are given; all others are computed.
  void settle() {
    if (is_in_order_) {
      first_inputs_.assign(row(0), row(0) + size_t(network_->num_inputs) * lanes);
      if (settle_in_order()) return;
      is_in_order_ = false;
      std::copy(first_inputs_.begin(), first_inputs_.end(), row(0));
      if (fits_) sort_links();
    }
    if (fits_) return settle_nodes(0, int(order_.size()));
    settle_in_segments();
  }
  // One synchronous update of all nodes but inputs.
  void step() {
    check();
    const Network<T>& n = *network_;
    std::copy_n(values_.data(), size_t(n.num_inputs) * lanes, next_.data());
    if (fits_) {
      for (int node = n.num_inputs; node < n.num_nodes; ++node) sum_up(node, next_.data() + size_t(node) * lanes);
    } else {
      for (int node = n.num_inputs; node < n.num_nodes; ++node)
        std::fill_n(next_.data() + size_t(node) * lanes, lanes, n.bias[node]);
      for_each_link([&](int32_t s, int32_t t, T w) {
        if (t >= n.num_inputs) add(next_.data() + size_t(t) * lanes, w, row(s));
      });
    }
    for (int node = n.num_inputs; node < n.num_nodes; ++node) activate(node, next_.data() + size_t(node) * lanes);
    values_.swap(next_);
  }

 private:
  static constexpr int64_t piece = 1 << 20;  // links between two looks at what goes on

  void check() const {
    if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
  }
  static void add(T* sum, T weight, const T* value) {
    for (int k = 0; k < lanes; ++k) sum[k] = sum[k] + weight * value[k];
  }
  void activate(int node, T* values) {
    const auto function = functions_[size_t(network_->activation[node])];
    if (!function) return;
    if constexpr (lanes >= 8) {
      function(values, lanes);
    } else {
      T whole[8] = {};  // a whole vector
      std::memcpy(whole, values, lanes * sizeof(T));
      function(whole, 8);
      std::memcpy(values, whole, lanes * sizeof(T));
    }
  }

  template <class Use>
  void for_each_link(Use&& use) {
    const Network<T>& n = *network_;
    for (int64_t begin = 0; begin < n.num_links; begin += piece) {
      check();
      const int64_t stop = std::min(n.num_links, begin + piece);
      for (int64_t l = begin; l < stop; ++l) use(n.source[l], n.target[l], n.weight[l]);
      give_back(begin, stop);
    }
  }
  void give_back(int64_t begin, int64_t stop) const {
    if (!is_on_disk_) return;
    give_back_pages(network_->source + begin, network_->source + stop);
    give_back_pages(network_->target + begin, network_->target + stop);
    give_back_pages(network_->weight + begin, network_->weight + stop);
  }

  // In the order of links: a source is activated when the first link from it comes. False
  // if a link comes too late for its target, or leads into an input.
  bool settle_in_order() {
    const Network<T>& n = *network_;
    is_ready_.assign(size_t(n.num_nodes), 0);
    std::fill_n(is_ready_.begin(), n.num_inputs, uint8_t(1));
    for (int node = n.num_inputs; node < n.num_nodes; ++node) std::fill_n(row(node), lanes, n.bias[node]);
    for (int64_t begin = 0; begin < n.num_links; begin += piece) {
      check();
      const int64_t stop = std::min(n.num_links, begin + piece);
      if (!add_in_order(begin, stop)) return false;
      give_back(begin, stop);
    }
    for (int node = n.num_inputs; node < n.num_nodes; ++node)
      if (!is_ready_[size_t(node)]) activate(node, row(node));
    return true;
  }
  bool add_in_order(int64_t begin, int64_t stop) {
    const Network<T>& n = *network_;
    uint8_t is_late = 0;
    T value[lanes];
    for (int64_t l = begin; l < stop;) {
      const int32_t s = n.source[l];
      if (!is_ready_[size_t(s)]) {
        activate(s, row(s));
        is_ready_[size_t(s)] = 1;
      }
      std::memcpy(value, row(s), sizeof value);
      for (; l < stop && n.source[l] == s; ++l) {
        const int32_t t = n.target[l];
        is_late |= is_ready_[size_t(t)];
        add(row(t), n.weight[l], value);
      }
      if (is_late) return false;  // soon, if at all, as rule `es` orders its links
    }
    return true;
  }

  // ---- by target

  void sort_nodes() {
    const Network<T>& n = *network_;
    order_.clear();
    for (int node = n.num_inputs; node < n.num_nodes; ++node) order_.push_back(node);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return n.rank[a] < n.rank[b]; });
  }
  // Links by target, those of each in their order; of targets that `is_wanted`.
  void sort_links() {
    sort_links([](int32_t) { return true; });
  }
  template <class Wanted>
  void sort_links(Wanted&& is_wanted) {
    const Network<T>& n = *network_;
    first_.assign(size_t(n.num_nodes) + 2, 0);
    const auto is_real = [&](int32_t t) { return t >= n.num_inputs && is_wanted(t); };
    for_each_link([&](int32_t, int32_t t, T) { first_[size_t(t) + 2] += is_real(t); });
    for (size_t k = 2; k < first_.size(); ++k) first_[k] += first_[k - 1];
    sorted_source_.clear(), sorted_weight_.clear();
    int32_t* source = sorted_source_.room(first_.back());
    T* weight = sorted_weight_.room(first_.back());
    for_each_link([&](int32_t s, int32_t t, T w) {
      if (!is_real(t)) return;
      const int64_t at = first_[size_t(t) + 1]++;
      source[at] = s, weight[at] = w;
    });
  }
  void sum_up(int node, T* result) {
    T sum[lanes];
    std::fill_n(sum, lanes, network_->bias[node]);
    const int32_t* source = sorted_source_.data();
    const T* weight = sorted_weight_.data();
    for (int64_t l = first_[size_t(node)]; l < first_[size_t(node) + 1]; ++l) add(sum, weight[l], row(source[l]));
    std::memcpy(result, sum, sizeof sum);
  }
  void settle_nodes(int begin, int stop) {
    check();
    for (int k = begin; k < stop; ++k) {
      sum_up(order_[size_t(k)], row(order_[size_t(k)]));
      activate(order_[size_t(k)], row(order_[size_t(k)]));
    }
  }
  // Some ranks at a time, whose links fit.
  void settle_in_segments() {
    const Network<T>& n = *network_;
    count_.assign(size_t(n.num_nodes), 0);
    for_each_link([&](int32_t, int32_t t, T) { ++count_[size_t(t)]; });
    for (size_t begin = 0; begin < order_.size();) {
      int64_t total = 0;
      size_t stop = begin;
      while (stop < order_.size() && (stop == begin || total + count_[size_t(order_[stop])] <= max_sorted_links_))
        total += count_[size_t(order_[stop++])];
      is_chosen_.assign(size_t(n.num_nodes), 0);
      for (size_t k = begin; k < stop; ++k) is_chosen_[size_t(order_[k])] = 1;
      sort_links([&](int32_t t) { return is_chosen_[size_t(t)] != 0; });
      settle_nodes(int(begin), int(stop));
      begin = stop;
    }
  }

  const bool is_on_disk_;
  const int64_t max_sorted_links_;
  const std::atomic<bool>& stop_;
  std::array<ArrayFunction<T>, num_activations> functions_;
  const Network<T>* network_ = nullptr;
  bool is_in_order_ = false, fits_ = true;
  std::vector<T> values_, next_, first_inputs_;
  std::vector<uint8_t> is_ready_, is_chosen_;
  std::vector<int> order_;
  std::vector<int64_t> first_, count_;
  Buffer<int32_t> sorted_source_;
  Buffer<T> sorted_weight_;
};

}  // namespace substrax
