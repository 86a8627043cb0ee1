// Networks with more links than a writer keeps: they are handed on while they are found,
// in the order of genomes, while other threads wait with theirs.
#include "found.hpp"
#include "layouts.hpp"
#include "programs.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

template <class T>
void test_full_writers() {
  Random random(7);
  const Terminals terminals = layout(0, 0);
  std::vector<double> point = terminals.point;
  for (int h = 0; h < 150; ++h) point.push_back(random.between(-1, 1)), point.push_back(random.between(-1, 1));
  const int num = int(point.size() / 2);
  std::vector<int32_t> rank(size_t(num), 0), source, target;
  for (int s = 0; s < num; ++s)
    for (int t = 3; t < num; ++t) source.push_back(s), target.push_back(t);
  // Genomes of very different sizes, so that threads overtake each other.
  Population<T> population{five, 1, false};
  for (int g = 0; g < 33; ++g) {
    population.begin_genome();
    const double bias = g % 5 == 0 ? 1.0 : random.between(-0.5, 0.2);
    population.output_slot.push_back(
        population.add_row(Activation::sin, bias, {{0, random.between(0, 1)}, {3, random.between(0, 2)}}));
  }
  const FixedSettings rule{point, rank, source, target, 0.5};
  const DiscoverySettings settings{{false, 1.0}, {1, 2}, 0, 0};
  const Run first = run_discovery(population.view(), terminals.view(), rule, settings, {});
  check(first.num_links > 200000, "some networks are large");
  for (int num_threads : {1, 2, 5}) {
    for (int64_t budget : {0, 4000000}) {
      const Run run = run_discovery(population.view(), terminals.view(), rule, settings, {num_threads, budget});
      check(run.bytes == first.bytes, "large networks are the same with other threads and budgets");
    }
  }
}

}  // namespace

void test_streams() {
  test_full_writers<float>();
  test_full_writers<double>();
}

}  // namespace substrax::test
