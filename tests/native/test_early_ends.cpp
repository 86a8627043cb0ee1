// Work that ends early: somebody asked for it, a disk is full, a genome is too large.
// Threads end, files are closed, and the first reason is the one that is told.
#include "found.hpp"
#include "layouts.hpp"
#include "programs.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

using T = float;

struct Case {
  Population<T> population;
  Terminals terminals;
  DiscoverySettings settings;
};

// Every pair of positions is a link.
Case dense(int num_genomes, int depth) {
  Population<T> p{five, 1, false};
  for (int g = 0; g < num_genomes; ++g) {
    p.begin_genome();
    p.output_slot.push_back(p.add_row(Activation::sin, 1.0 + 0.01 * g, {{0, 0.1}, {2, 0.1}}));
  }
  return {p, layout(0, depth), {{false, 1.0}, {1, 2}, depth, 0}};
}

EmrSettings emr(int depth) {
  return {depth, depth, 0, forward | backward | lateral | self, 0.0, 0.1, 0.0, false, false, false};
}

void test_stop() {
  const Case c = dense(2000, 3);
  for (int num_threads : {1, 2, 5}) {
    for (int64_t budget : {int64_t{0}, int64_t{1} << 28}) {
      const int before = next_descriptor();
      int num_polls = 0;
      const Poll poll = [&](const Progress& progress) {
        check(progress.num_done >= 0 && progress.num_done <= 2000, "progress is told");
        ++num_polls;
        return false;
      };
      const Means means{num_threads, budget, open_nameless, poll};
      const Run run = run_discovery(c.population.view(), c.terminals.view(), emr(3), c.settings, means);
      check(run.was_stopped && run.refusal.kind == RefusalKind::none, "discovery stops when it is told to");
      check(num_polls == 1, "nobody is asked again who said no");
      check(next_descriptor() == before, "discovery that stops closes its files");
    }
  }
}

// The disk is full from the n-th file on.
void test_no_disk() {
  const Case c = dense(60, 2);
  for (int num_threads : {1, 2, 5}) {
    for (int num_good : {0, 1, 2}) {
      const int before = next_descriptor();
      std::atomic<int> num_opened{0};
      const OpenScratch open = [&] {
        if (num_opened++ >= num_good) throw Refusal{RefusalKind::scratch_failed, ENOSPC};
        return open_nameless();
      };
      const Means means{num_threads, 400000, open, nullptr};
      const Run run = run_discovery(c.population.view(), c.terminals.view(), emr(2), c.settings, means);
      check(run.refusal.kind == RefusalKind::scratch_failed && run.refusal.number == ENOSPC, "a full disk is told");
      check(next_descriptor() == before, "a full disk leaves no file open");
    }
  }
}

void test_too_large() {
  const Case c = dense(3, 8);
  for (int num_threads : {1, 2}) {
    const Run run = run_discovery(c.population.view(), c.terminals.view(), emr(8), c.settings, {num_threads, 0});
    check(run.refusal.kind == RefusalKind::too_many_positions, "a genome that is too large is refused");
  }
}

void test_stop_of_evaluation() {
  // Two nodes that feed each other, for longer than anybody waits.
  const std::vector<int64_t> node_bounds{0, 4}, link_bounds{0, 3};
  const std::vector<int32_t> activation(4, 1), rank(4, 0), source{0, 2, 3}, target{2, 3, 2};
  const std::vector<T> bias(4, 0.1f), weight(3, 0.5f), inputs(1, 1.0f);
  const Networks<T> networks{1,    1,      node_bounds, link_bounds, activation, rank, bias, source, target,
                             weight, false, false,       false};
  T output = 0;
  Workers workers(2, [](const Progress&) { return false; });
  evaluate(networks, SampleArray<T>{inputs, 1, false}, 2000000000, 0, workers, &output);
  check(workers.was_stopped(), "evaluation stops when it is told to");
}

}  // namespace

void test_early_ends() {
  test_stop();
  test_no_disk();
  test_too_large();
  test_stop_of_evaluation();
}

}  // namespace substrax::test
