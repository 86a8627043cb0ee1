// Discovery: the networks that the CPPNs of a population ask for.
//
// The result for a genome is a function of that genome and the settings alone, so threads
// take runs of genomes, in order. What they find is appended to one store in the order of
// genomes: each run waits for its turn, and its thread goes on with another meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "discovered.hpp"
#include "network_writer.hpp"
#include "workers.hpp"
#include "workspace.hpp"

namespace substrax {

// Runs of genomes take their turns.
class Turns {
 public:
  explicit Turns(const std::atomic<bool>& stop) : stop_(stop) {}

  bool is_due(int run) {
    std::lock_guard guard(mutex_);
    return next_ == run;
  }
  void wait(int run) {
    std::unique_lock lock(mutex_);
    while (next_ != run) {
      if (stop_.load()) throw Stopped{};  // who is before may have given up
      moved_.wait_for(lock, std::chrono::milliseconds(50));
    }
  }
  void end(int run) {
    std::lock_guard guard(mutex_);
    next_ = run + 1;
    moved_.notify_all();
  }

 private:
  const std::atomic<bool>& stop_;
  std::mutex mutex_;
  std::condition_variable moved_;
  int next_ = 0;
};

template <class T, template <class> class Rule, class RuleSettings>
class Discovery {
 public:
  Discovery(const Programs<T>& programs, const Layout& layout, const DiscoverySettings& settings,
            const RuleSettings& rule, const OpenScratch& open_scratch, MemoryPool& memory, Workers& workers)
      : programs_(programs),
        layout_(layout),
        settings_(settings),
        rule_(rule),
        open_scratch_(open_scratch),
        memory_(memory),
        workers_(workers),
        turns_(workers.stop()),
        result_(std::make_unique<Discovered<T>>(settings.memory_budget / 8, open_scratch, memory)) {
    const int num = programs.num_genomes(), threads = workers.num_threads();
    result_->counts.resize(size_t(num));
    run_length_ = std::clamp(num / (16 * threads), 1, 16);
    num_runs_ = (num + run_length_ - 1) / run_length_;
    result_->nodes.resize(size_t(num_runs_));
    const int64_t share = settings.memory_budget / threads;
    limits_ = {std::max<int64_t>(share / 2, 1 << 24), std::max<int64_t>(share / 2, int64_t{320} << 20), share / 16};
    max_links_ = std::max<int64_t>(1 << 14, share / 16 / int64_t(2 * sizeof(int32_t) + sizeof(T)));
    // Finished runs wait in memory that is used again and again: little of it stays in
    // the cache, and every new page has a price.
    max_waiting_ = std::min<int64_t>(share / 8, int64_t{4} << 20);
    memory.limit(size_t(std::min(settings.memory_budget / 8, int64_t{256} << 20)));
  }

  Refusal run() {
    return workers_.run([this](int) { work(); });
  }
  std::unique_ptr<Discovered<T>> result() {
    result_->links.close();
    return std::move(result_);
  }

 private:
  struct Finished {
    int run;
    std::unique_ptr<NetworkWriter<T>> writer;
  };

  void work() {
    Workspace<T> workspace(programs_, layout_, WeightMap<T>(settings_.weight_map), settings_.depth, limits_,
                           open_scratch_, workers_.stop());
    Rule<T> rule(rule_, workspace);
    std::deque<Finished> waiting;
    std::vector<std::unique_ptr<NetworkWriter<T>>> spare;
    for (int run; (run = next_run_.fetch_add(1)) < num_runs_;) {
      if (spare.empty()) spare.push_back(std::make_unique<NetworkWriter<T>>(layout_, settings_.nodes, max_links_, memory_));
      auto writer = std::move(spare.back());
      spare.pop_back();
      writer->clear();
      writer->hand_on = [&](NetworkWriter<T>& full) {
        put_all(waiting, spare, 0);  // what this thread found before comes before
        turns_.wait(run);
        put(full);
      };
      const int stop = std::min((run + 1) * run_length_, programs_.num_genomes());
      for (int g = run * run_length_; g < stop; ++g) {
        const int64_t asked = workspace.query.num_queries;
        result_->counts[size_t(g)] = rule.wire(g, *writer);
        workers_.progress().num_queries += workspace.query.num_queries - asked;
        workers_.progress().num_links += result_->counts[size_t(g)].num_links;
        ++workers_.progress().num_done;
      }
      waiting.push_back({run, std::move(writer)});
      put_all(waiting, spare, max_waiting_);
    }
    put_all(waiting, spare, 0);
    std::lock_guard guard(mutex_);
    result_->num_queries += workspace.query.num_queries;
  }
  // Puts finished runs where they belong, in their order: those whose turn it is, and as
  // many more as it takes until no more than so many bytes wait.
  void put_all(std::deque<Finished>& waiting, std::vector<std::unique_ptr<NetworkWriter<T>>>& spare,
               int64_t max_bytes) {
    while (!waiting.empty()) {
      int64_t num_bytes = 0;
      for (const auto& f : waiting) num_bytes += f.writer->links.num_bytes();
      Finished& first = waiting.front();
      const bool has_room = max_bytes && num_bytes <= max_bytes && waiting.size() < 64;
      if (has_room && !turns_.is_due(first.run)) return;
      turns_.wait(first.run);
      result_->nodes[size_t(first.run)] = std::move(first.writer->nodes);
      const int64_t begin = result_->links.reserve(first.writer->links.size());
      turns_.end(first.run);  // others may reserve while this is written
      result_->links.put(begin, first.writer->links);
      first.writer->nodes = Nodes{};
      spare.push_back(std::move(first.writer));
      waiting.pop_front();
    }
  }
  void put(NetworkWriter<T>& writer) {
    const int64_t begin = result_->links.reserve(writer.links.size());
    result_->links.put(begin, writer.links);
  }

  const Programs<T>& programs_;
  const Layout& layout_;
  const DiscoverySettings settings_;
  const RuleSettings rule_;
  const OpenScratch& open_scratch_;
  MemoryPool& memory_;
  Workers& workers_;
  Turns turns_;
  std::unique_ptr<Discovered<T>> result_;
  Limits limits_;
  int64_t max_links_, max_waiting_;
  int run_length_, num_runs_;
  std::atomic<int> next_run_{0};
  std::mutex mutex_;
};

}  // namespace substrax
