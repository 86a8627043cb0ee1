// Networks evaluated by the engine and by plain loops: the same bits, whatever the number
// of samples, of threads, and the budget.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../src/native/engine.hpp"
#include "../../src/native/float_mode.hpp"
#include "../../src/native/functions.hpp"
#include "../../src/native/readied.hpp"
#include "check.hpp"
#include "random.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

// Networks that own their arrays.
template <class T>
struct Some {
  int num_inputs = 3, num_outputs = 2;
  bool is_neat_python = false, is_acyclic = true;
  std::vector<int64_t> node_bounds{0}, link_bounds{0};
  std::vector<int32_t> activation{}, rank{}, source{}, target{};
  std::vector<T> bias{}, weight{};

  Networks<T> view() const {
    return {num_inputs, num_outputs, node_bounds, link_bounds,    activation, rank, bias,
            source,     target,      weight,      is_neat_python, is_acyclic, false};
  }
  size_t num_nodes() const { return size_t(node_bounds.back()); }
};

enum class Order { sorted, shuffled };

template <class T>
void add_network(Random& random, Some<T>& all, int num_hidden, int num_links, Order order) {
  const int first = all.num_inputs, num = first + all.num_outputs + num_hidden;
  const size_t begin = all.rank.size();
  for (int n = 0; n < num; ++n) {
    all.activation.push_back(random.below(num_activations));
    all.bias.push_back(T(random.between(-1, 1)));
    all.rank.push_back(n < first ? 0 : 1 + random.below(6));
  }
  struct Link {
    int32_t source, target;
  };
  std::vector<Link> links;
  while (int(links.size()) < num_links) {
    const int s = random.below(num), t = random.below(num);
    // Links into inputs are allowed, and mean nothing.
    if (!all.is_acyclic || t < first || all.rank[begin + size_t(s)] < all.rank[begin + size_t(t)])
      links.push_back({s, t});
  }
  if (order == Order::sorted)
    std::stable_sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
      return all.rank[begin + size_t(a.source)] < all.rank[begin + size_t(b.source)];
    });
  for (const Link& link : links) {
    all.source.push_back(link.source), all.target.push_back(link.target);
    all.weight.push_back(T(random.between(-1, 1)));
  }
  all.node_bounds.push_back(int64_t(all.rank.size()));
  all.link_bounds.push_back(int64_t(all.source.size()));
}

// What a node makes of the values of others.
template <class T>
T plain_node(const Network<T>& n, bool is_neat_python, int node, const std::vector<T>& values) {
  T sum = n.bias[node];
  for (int64_t l = 0; l < n.num_links; ++l)
    if (n.target[l] == node) sum = sum + n.weight[l] * values[size_t(n.source[l])];
  if (auto function = array_function<T>(n.activation[node], is_neat_python)) function(&sum, 1);
  return sum;
}

template <class T>
std::vector<T> plain_values(const Networks<T>& all, int index, const T* inputs, int steps) {
  FlushDenormals flush;
  const Network<T> n(all, index);
  std::vector<T> values(size_t(n.num_nodes), T(0));
  std::copy_n(inputs, n.num_inputs, values.begin());
  if (steps == 0) {
    for (int rank = 0; rank <= 7; ++rank)
      for (int node = n.num_inputs; node < n.num_nodes; ++node)
        if (n.rank[node] == rank) values[size_t(node)] = plain_node(n, all.is_neat_python, node, values);
  }
  for (int k = 0; k < steps; ++k) {
    std::vector<T> next = values;
    for (int node = n.num_inputs; node < n.num_nodes; ++node)
      next[size_t(node)] = plain_node(n, all.is_neat_python, node, values);
    values = next;
  }
  return values;
}

// The same bits, or both no number.
template <class T>
bool are_same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](T x, T y) {
    return std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
  });
}

template <class T>
std::vector<T> random_inputs(Random& random, size_t num) {
  std::vector<T> values(num);
  for (T& v : values) v = T(random.between(-1, 1));
  return values;
}

template <class T>
void compare(Random& random, const Some<T>& some, int num_samples, bool is_shared, int steps, bool is_plain_compared) {
  const Networks<T> networks = some.view();
  const size_t num = size_t(networks.size()), samples = size_t(num_samples);
  const size_t num_inputs = size_t(some.num_inputs), num_outputs = size_t(some.num_outputs);
  const auto inputs = random_inputs<T>(random, (is_shared ? 1 : num) * samples * num_inputs);
  const SampleArray<T> array{inputs, num_samples, is_shared};
  std::vector<T> wanted;
  for (size_t g = 0; g < num && is_plain_compared; ++g) {
    for (size_t k = 0; k < samples; ++k) {
      const T* own = inputs.data() + ((is_shared ? 0 : g * samples) + k) * num_inputs;
      const auto values = plain_values(networks, int(g), own, steps);
      wanted.insert(wanted.end(), values.begin() + long(num_inputs), values.begin() + long(num_inputs + num_outputs));
    }
  }
  for (int num_threads : {1, 2, 5}) {
    Workers workers(num_threads, nullptr);
    std::vector<T> outputs(num * samples * num_outputs, T(-7));
    evaluate(networks, array, steps, 1 << 20, workers, outputs.data());
    if (wanted.empty()) wanted = outputs;
    check(are_same(outputs, wanted), "outputs are those of a plain loop, with any number of threads");
  }
  if (!steps) return;
  // Once from a state of zeros, and in pieces.
  std::vector<T> state(some.num_nodes() * samples, T(0)), twice = state, outputs(num * samples * num_outputs), other = outputs;
  Workers workers(2, nullptr);
  advance(networks, array, steps, 1 << 20, workers, state.data(), outputs.data());
  check(are_same(outputs, wanted), "a state of zeros advances as evaluation does");
  for (int k = 0; k < steps; ++k) advance(networks, array, 1, 1 << 20, workers, twice.data(), other.data());
  check(are_same(state, twice) && are_same(outputs, other), "some steps at once are as many single steps");
}

// Networks that are readied: all chunks, one after the other.
template <class T>
void compare_readied(Random& random, const Some<T>& some, int num_samples, int steps) {
  const Networks<T> networks = some.view();
  const size_t num = size_t(networks.size()), samples = size_t(num_samples);
  const auto inputs = random_inputs<T>(random, num * samples * size_t(some.num_inputs));
  const SampleArray<T> array{inputs, num_samples, false};
  Workers workers(1, nullptr);
  std::vector<T> outputs(num * samples * size_t(some.num_outputs), T(-7)), wanted = outputs, memory;
  std::vector<T> state(some.num_nodes() * samples, T(0));
  const Readied<T> readied(networks, steps);
  const size_t slots = size_t(readied.most_nodes()) + 3;
  std::vector<T> before(num * slots * samples, T(0)), after = before;
  // Twice, so that states are carried from one call to the next.
  for (int k = 0; k < 2; ++k) {
    if (some.is_acyclic) evaluate(networks, array, 0, 1 << 20, workers, wanted.data());
    else advance(networks, array, steps, 1 << 20, workers, state.data(), wanted.data());
    {
      FlushDenormals flush;
      const bool has_state = !some.is_acyclic;
      for (int chunk = 0; chunk < readied.num_chunks(); ++chunk)
        readied.run(chunk,
                    {inputs.data(), outputs.data(), num_samples, has_state ? before.data() : nullptr,
                     has_state ? after.data() : nullptr, int64_t(slots)},
                    memory);
    }
    check(are_same(outputs, wanted), "networks that were readied give the same outputs");
    before = after;
  }
}

template <class T>
void test_readied() {
  Random random(11);
  for (bool is_acyclic : {true, false})
    for (int num_samples : {1, 3, 5, 8, 19}) {
      Some<T> some{.is_neat_python = false, .is_acyclic = is_acyclic};
      // More than one chunk takes, and some of all sizes.
      for (int g = 0; g < 60; ++g)
        add_network(random, some, random.below(30), g % 7 ? random.below(900) : 0, Order(g % 2));
      compare_readied(random, some, num_samples, 1 + num_samples % 3);
    }
}

template <class T>
void test_small() {
  Random random(8);
  for (int k = 0; k < 8; ++k) {
    Some<T> some{.is_neat_python = k % 2 == 1, .is_acyclic = k < 4};
    for (int g = 0; g < 6; ++g)
      add_network(random, some, random.below(12), g ? random.below(60) : 0, g % 2 ? Order::sorted : Order::shuffled);
    for (int num_samples : {0, 1, 4, 5, 33, 129}) {
      const bool is_shared = random.chance(0.5);
      if (some.is_acyclic) compare(random, some, num_samples, is_shared, 0, true);
      compare(random, some, num_samples, is_shared, 1 + k % 3, true);
    }
  }
}

// More links than are sorted at a time.
template <class T>
void test_large() {
  Random random(9);
  for (bool is_acyclic : {true, false}) {
    Some<T> some{.is_neat_python = false, .is_acyclic = is_acyclic};
    for (Order order : {Order::sorted, Order::shuffled}) add_network(random, some, 20, 70000, order);
    for (int num_samples : {1, 20}) compare(random, some, num_samples, true, is_acyclic ? 0 : 2, num_samples == 1);
  }
}

template <class T>
void test_empty() {
  Random random(10);
  Some<T> none{.is_neat_python = false, .is_acyclic = true};
  compare(random, none, 3, true, 0, true);
  Some<T> hollow{.num_inputs = 0, .num_outputs = 0, .is_neat_python = false, .is_acyclic = true};
  hollow.node_bounds.push_back(0), hollow.link_bounds.push_back(0);
  compare(random, hollow, 3, true, 0, true);
  compare(random, hollow, 3, true, 2, true);
}

}  // namespace

void test_evaluation() {
  test_small<float>(), test_small<double>();
  test_large<float>(), test_large<double>();
  test_empty<float>(), test_empty<double>();
  test_readied<float>(), test_readied<double>();
}

}  // namespace substrax::test
