// The networks are the same bytes with any number of threads and any budget, and whether
// every cell is looked at or only those that can matter.
#include <limits>

#include "found.hpp"
#include "layouts.hpp"
#include "programs.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

DiscoverySettings settings_of(Random& random, int depth) {
  return {{random.chance(0.5), 5.0}, {1, 2}, depth, 0};
}

template <class T, class Settings>
void compare(const Programs<T>& programs, const Layout& layout, const Settings& rule,
             const DiscoverySettings& settings, const std::string& what) {
  const Run first = run_discovery(programs, layout, rule, settings, {});
  check(first.refusal.kind == RefusalKind::none, what + " is found");
  const Means means[] = {{1, 0}, {2, 20000}, {5, 20000}, {5}};
  for (const Means& some : means) {
    const Run run = run_discovery(programs, layout, rule, settings, some);
    check(run.bytes == first.bytes, what + " is the same with other threads and budgets");
    check(run.num_queries == first.num_queries, what + " takes as many queries");
    check(run.is_on_disk == (run.num_links > some.budget / 8 / int64_t(8 + sizeof(T))), what + " goes to the disk");
  }
}

template <class T, class Settings>
void compare_both(const Programs<T>& programs, const Layout& layout, Settings rule, const DiscoverySettings& settings,
                  const std::string& what) {
  rule.is_eager = false;
  compare(programs, layout, rule, settings, what);
  const Run lazy = run_discovery(programs, layout, rule, settings, {2});
  rule.is_eager = true;
  const Run eager = run_discovery(programs, layout, rule, settings, {2});
  check(lazy.bytes == eager.bytes, what + " is the same if every cell is looked at");
}

const int configurations[] = {0, forward, forward | self, forward | backward, forward | lateral,
                              forward | backward | self, forward | lateral | self,
                              forward | backward | lateral, forward | backward | lateral | self};

template <class T>
void test_rules() {
  Random random(2);
  const Coordinates* inputs[] = {&five, &eight, &apart};
  for (int k = 0; k < 18; ++k) {
    const int depth = 1 + k % 3;
    const Terminals terminals = layout(k % num_layouts, depth);
    const auto population = random_population<T>(random, depth < 3 ? 12 : 3, *inputs[k % 3], 1 + k % 2, k % 4 == 0);
    const DiscoverySettings settings = settings_of(random, depth);
    const double threshold = random.chance(0.3) ? 0.0 : random.between(0.0, 0.3);
    const double band = random.chance(0.5) ? 0.0 : 0.2;
    const EmrSettings emr{depth,     random.below(2), random.below(3),    configurations[k % 9],  threshold,
                          threshold, band,            random.chance(0.5), random.chance(0.5),     false};
    compare_both(population.view(), terminals.view(), emr, settings, "emr " + std::to_string(k));
    const EsSettings es{depth, random.below(3), random.below(3), threshold, threshold, band, false};
    compare_both(population.view(), terminals.view(), es, settings, "es " + std::to_string(k));
  }
}

// Nodes and possible links that are given.
template <class T>
void test_fixed() {
  Random random(3);
  for (int k = 0; k < 6; ++k) {
    const Terminals terminals = layout(k % 2, 0);
    std::vector<double> point = terminals.point;
    for (int h = 0; h < 40; ++h) point.push_back(random.between(-1, 1)), point.push_back(random.between(-1, 1));
    const int num = int(point.size() / 2);
    std::vector<int32_t> rank(size_t(num), 0), source, target;
    for (int l = 0; l < 700; ++l) source.push_back(random.below(num)), target.push_back(random.below(num));
    const auto population = random_population<T>(random, 20, five, 1 + k % 2, k % 2);
    const FixedSettings rule{point, rank, source, target, 0.3};
    Layout places = terminals.view();
    places.has_terminals_on_cells = false;
    compare(population.view(), places, rule, settings_of(random, 0), "hyperneat " + std::to_string(k));
  }
}

// A population of nobody, and CPPNs that say nothing.
template <class T>
void test_empty() {
  Random random(4);
  const Terminals terminals = layout(2, 2);
  const EmrSettings emr{2, 0, 1, forward, 0.03, 0.2, 0.0, false, false, false};
  const EsSettings es{2, 0, 1, 0.03, 0.03, 0.3, false};
  const Population<T> nobody{five, 1, false};
  Population<T> silent = nobody;
  for (int g = 0; g < 7; ++g) {
    silent.begin_genome();
    silent.output_slot.push_back(silent.add_row(Activation::identity, 0.0, {}));
  }
  for (const Population<T>& population : {nobody, silent}) {
    compare(population.view(), terminals.view(), emr, settings_of(random, 2), "emr without links");
    compare(population.view(), terminals.view(), es, settings_of(random, 2), "es without links");
  }
}

// Denormal numbers are zero, also in rows that depend on nothing.
template <class T>
void test_denormals() {
  Population<T> population{five, 1, false};
  population.begin_genome();
  const int tiny = population.add_row(Activation::identity, double(std::numeric_limits<T>::denorm_min()), {});
  const int step = population.add_row(Activation::step, 0.0, {{tiny, 1.0}});
  population.output_slot.push_back(population.add_row(Activation::sin, 0.0, {{step, 1.0}}));
  const Terminals terminals = layout(0, 1);
  const std::vector<int32_t> rank(4, 0), source{0, 1}, target{3, 3};
  const DiscoverySettings settings{{false, 1.0}, {1, 2}, 1, 0};
  const EmrSettings emr{1, 1, 0, forward, 0.0, 0.1, 0.0, false, false, false};
  const FixedSettings fixed{terminals.point, rank, source, target, 0.1};
  check(run_discovery(population.view(), terminals.view(), emr, settings, {}).num_links == 0, "emr flushes denormals");
  check(run_discovery(population.view(), terminals.view(), fixed, settings, {}).num_links == 0,
        "hyperneat flushes denormals");
}

// Memory of a discovery before, larger or smaller than what is needed, changes nothing;
// nor does a limit that lets none of it stay.
template <class T>
void test_memory_is_used_again() {
  Random random(5);
  const Terminals terminals = layout(0, 2);
  const EmrSettings emr{3, 1, 0, forward | backward | lateral | self, 0.001, 0.01, 0.0, false, false, false};
  const DiscoverySettings settings = settings_of(random, 3);
  const auto few = random_population<T>(random, 3, five, 1, false);
  const auto many = random_population<T>(random, 16, five, 1, false);
  for (const int num_threads : {1, 3}) {
    for (const int64_t budget : {int64_t{1} << 30, int64_t{1} << 22}) {
      const Means kept{num_threads, budget};
      for (const auto* population : {&few, &many, &few, &many}) {
        const Run again = run_discovery(population->view(), terminals.view(), emr, settings, kept);
        const Run fresh = run_discovery(population->view(), terminals.view(), emr, settings, {});
        check(again.bytes == fresh.bytes, "memory that is used again, " + std::to_string(num_threads) + " threads");
      }
    }
  }
}

}  // namespace

void test_discovery() {
  test_memory_is_used_again<float>(), test_memory_is_used_again<double>();
  test_rules<float>(), test_rules<double>();
  test_fixed<float>(), test_fixed<double>();
  test_empty<float>(), test_empty<double>();
  test_denormals<float>(), test_denormals<double>();
}

}  // namespace substrax::test
