// Evaluation of the networks of a population, by all threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "evaluator.hpp"
#include "float_mode.hpp"
#include "network.hpp"
#include "workers.hpp"

namespace substrax {

// Samples for all networks, or for each its own: (networks or 1, samples, inputs).
template <class T>
struct Samples {
  const T* data;
  int64_t num_samples;
  bool is_shared;
};

template <class T, int lanes>
class Evaluation {
 public:
  Evaluation(const Networks<T>& networks, const Samples<T>& samples, int64_t memory_budget, Workers& workers)
      : networks_(networks), samples_(samples), workers_(workers) {
    const int64_t num = std::max(1, networks.size()), threads = workers.num_threads();
    const int64_t num_blocks = std::max<int64_t>(1, (samples.num_samples + lanes - 1) / lanes);
    // Few networks with many samples are cut by samples.
    const int64_t cuts = std::clamp<int64_t>((4 * threads + num - 1) / num, 1, num_blocks);
    blocks_at_a_time_ = (num_blocks + cuts - 1) / cuts;
    num_blocks_ = num_blocks;
    max_sorted_links_ = std::max<int64_t>(1 << 10, memory_budget / threads / 2 / int64_t(4 + sizeof(T)));
  }

  // Outputs (networks, samples, outputs). With `steps` 0 networks settle; else they make
  // so many updates from a zero state.
  Refusal run(int steps, T* outputs) {
    return over_items([&](Evaluator<T, lanes>& evaluator, const Network<T>& network, int index, int64_t first,
                          int64_t stop) {
      evaluator.take(network, (stop - first) * std::max(1, steps), steps == 0);
      for (int64_t block = first; block < stop; ++block) {
        const int64_t begin = block * lanes;
        const int n = int(std::min<int64_t>(lanes, samples_.num_samples - begin));
        if (steps) std::fill_n(evaluator.row(0), size_t(network.num_nodes) * lanes, T(0));
        read_inputs(evaluator, network, index, begin, n);
        if (!steps) evaluator.settle();
        for (int k = 0; k < steps; ++k) evaluator.step();
        write_outputs(evaluator, network, index, begin, n, outputs);
      }
    });
  }
  // `steps` updates of states (nodes of all networks, samples), which are replaced.
  Refusal advance(int steps, T* state, T* outputs) {
    return over_items([&](Evaluator<T, lanes>& evaluator, const Network<T>& network, int index, int64_t first,
                          int64_t stop) {
      evaluator.take(network, (stop - first) * steps, false);
      T* own = state + networks_.node_bounds[size_t(index)] * samples_.num_samples;
      for (int64_t block = first; block < stop; ++block) {
        const int64_t begin = block * lanes;
        const int n = int(std::min<int64_t>(lanes, samples_.num_samples - begin));
        for (int node = 0; node < network.num_nodes; ++node) {
          T* row = evaluator.row(node);
          std::fill_n(row, lanes, T(0));
          std::copy_n(own + node * samples_.num_samples + begin, n, row);
        }
        read_inputs(evaluator, network, index, begin, n);
        for (int k = 0; k < steps; ++k) evaluator.step();
        for (int node = 0; node < network.num_nodes; ++node)
          std::copy_n(evaluator.row(node), n, own + node * samples_.num_samples + begin);
        write_outputs(evaluator, network, index, begin, n, outputs);
      }
    });
  }

 private:
  template <class Use>
  Refusal over_items(Use&& use) {
    const int64_t cuts = (num_blocks_ + blocks_at_a_time_ - 1) / blocks_at_a_time_;
    const int64_t num_items = int64_t(networks_.size()) * cuts;
    std::atomic<int64_t> next{0};
    return workers_.run([&](int) {
      FlushDenormals flush;
      Evaluator<T, lanes> evaluator(networks_, max_sorted_links_, workers_.stop());
      for (int64_t item; (item = next.fetch_add(1)) < num_items;) {
        if (workers_.stop().load(std::memory_order_relaxed)) throw Stopped{};
        const int index = int(item / cuts);
        const int64_t first = item % cuts * blocks_at_a_time_;
        use(evaluator, Network<T>(networks_, index), index, first, std::min(num_blocks_, first + blocks_at_a_time_));
        ++workers_.progress().num_done;
      }
    });
  }
  void read_inputs(Evaluator<T, lanes>& evaluator, const Network<T>& network, int index, int64_t begin, int n) {
    const int num = network.num_inputs;
    const T* data = samples_.data + ((samples_.is_shared ? 0 : index * samples_.num_samples) + begin) * num;
    for (int i = 0; i < num; ++i) {
      T* row = evaluator.row(i);
      for (int k = 0; k < n; ++k) row[k] = data[size_t(k) * size_t(num) + size_t(i)];
      std::fill(row + n, row + lanes, T(0));
    }
  }
  void write_outputs(Evaluator<T, lanes>& evaluator, const Network<T>& network, int index, int64_t begin, int n,
                     T* outputs) {
    const int num = network.num_outputs;
    T* out = outputs + (index * samples_.num_samples + begin) * num;
    for (int o = 0; o < num; ++o) {
      const T* row = evaluator.row(network.num_inputs + o);
      for (int k = 0; k < n; ++k) out[size_t(k) * size_t(num) + size_t(o)] = row[k];
    }
  }

  const Networks<T>& networks_;
  const Samples<T> samples_;
  Workers& workers_;
  int64_t blocks_at_a_time_, num_blocks_, max_sorted_links_;
};

}  // namespace substrax
