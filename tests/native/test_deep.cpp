// Grids down to the deepest level, where cells are hashed, and not in a table.
#include "found.hpp"
#include "layouts.hpp"
#include "programs.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

// A plane whose every cell is a position: the hash grows.
template <class T>
void test_many_positions() {
  Random random(6);
  Population<T> waves{five, 1, false};
  waves.begin_genome();
  waves.output_slot.push_back(waves.add_row(Activation::sin, 0.3, {{2, 40.0}, {3, 30.0}}));
  const int depth = 9;
  const Terminals terminals = layout(0, depth);
  // Below level 6 nothing varies by so much.
  const EmrSettings emr{depth, 0, 0, 0, 1e-2, 0.1, 0.0, false, false, false};
  const DiscoverySettings settings{{false, 1.0}, {1, 2}, depth, 0};
  const Run one = run_discovery(waves.view(), terminals.view(), emr, settings, {1, 0});
  const Run five_threads = run_discovery(waves.view(), terminals.view(), emr, settings, {5, int64_t{1} << 30});
  check(one.refusal.kind == RefusalKind::none && one.num_links > 8000, "a deep plane has many positions");
  check(one.bytes == five_threads.bytes, "a deep plane is the same with other threads");
}

template <class T>
void test_needles() {
  Random random(5);
  for (int depth : {9, 13, 20}) {
    int64_t emr_links = 0, es_links = 0;
    for (int k = 0; k < 3; ++k) {
      const Terminals terminals = layout(k + 1, depth);
      const auto population = needles<T>(random, 2);
      const DiscoverySettings settings{{false, 2.0}, {1, 2}, depth, 0};
      const EmrSettings emr{depth, 0, k % 2, k ? forward | self : forward | backward | lateral, 2e-3, 0.1, 0.0,
                            false, k == 2, false};
      const EsSettings es{depth, 1, 1, 2e-3, 2e-3, 0.01, false};
      const auto at_depth = [&](const auto& rule, const std::string& what) {
        const Run first = run_discovery(population.view(), terminals.view(), rule, settings, {});
        const Run other = run_discovery(population.view(), terminals.view(), rule, settings, {5, 0});
        const std::string name = what + " at depth " + std::to_string(depth);
        check(first.refusal.kind == RefusalKind::none, name + " is found");
        check(first.bytes == other.bytes, name + " is the same with other threads and budgets");
        return first.num_links;
      };
      emr_links += at_depth(emr, "emr"), es_links += at_depth(es, "es");
    }
    check(emr_links > 100 && es_links > 10, "deep grids have links");
  }
}

}  // namespace

void test_deep_grids() {
  test_needles<float>(), test_needles<double>();
  test_many_positions<float>();
}

}  // namespace substrax::test
