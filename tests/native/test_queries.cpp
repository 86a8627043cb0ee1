// What the kernel answers is what a plain loop over the program answers, whichever end is
// fixed, however many questions there are, and however many threads ask.
#include <cmath>
#include <cstring>

#include "../../src/native/engine.hpp"
#include "../../src/native/float_mode.hpp"
#include "../../src/native/query.hpp"
#include "check.hpp"
#include "programs.hpp"
#include "tests.hpp"

namespace substrax::test {
namespace {

template <class T>
struct Ends {
  T x1, y1, x2, y2;
};

template <class T>
std::vector<T> plain_answers(const Programs<T>& p, int genome, const Ends<T>& e) {
  FlushDenormals flush;
  const T dx = e.x2 - e.x1, dy = e.y2 - e.y1;
  const T all[] = {e.x1, e.y1, e.x2, e.y2, T(1), dx, dy, std::sqrt(std::fma(dx, dx, dy * dy))};
  std::vector<T> slots;
  for (int32_t c : p.coordinates) slots.push_back(all[c]);
  for (int k = 0; k < p.num_rows[size_t(genome)]; ++k) {
    const size_t r = size_t(p.first_row[size_t(genome)] + k);
    T z = p.bias[r];
    for (size_t f = 0; f < size_t(fan_in); ++f)
      z = std::fma(p.weight[r * fan_in + f], slots[size_t(p.source[r * fan_in + f])], z);
    if (auto function = array_function<T>(p.activation[r], p.is_neat_python)) function(&z, 1);
    slots.push_back(z);
  }
  std::vector<T> answers;
  for (int o = 0; o < p.num_outputs; ++o)
    answers.push_back(slots[size_t(p.output_slot[size_t(genome * p.num_outputs + o)])]);
  return answers;
}

// Equal, or both no number; zeros of either sign are equal.
template <class T>
bool is_same(T a, T b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

template <class T>
Ends<T> random_ends(Random& random) {
  const auto any = [&] { return T(random.between(-1.0, 1.0)); };
  const T x1 = any(), y1 = any(), x2 = any();
  return {x1, y1, x2, any()};
}

// Links with two ends of their own.
template <class T>
void ask_pairs(Random& random, const Population<T>& population) {
  const Programs<T> p = population.view();
  std::vector<int32_t> genome;
  std::vector<int64_t> bounds{0};
  std::vector<T> source, target, wanted;
  for (int run = 0; run < 2 * p.num_genomes(); ++run) {
    genome.push_back(random.below(p.num_genomes()));
    const int n = run == 1 ? 600 : random.below(20);
    bounds.push_back(bounds.back() + n);
    for (int k = 0; k < n; ++k) {
      const Ends<T> e = random_ends<T>(random);
      source.insert(source.end(), {e.x1, e.y1}), target.insert(target.end(), {e.x2, e.y2});
      const auto answers = plain_answers(p, genome.back(), e);
      wanted.insert(wanted.end(), answers.begin(), answers.end());
    }
  }
  const size_t num = size_t(bounds.back()), num_outputs = size_t(p.num_outputs);
  for (int num_threads : {1, 2, 5}) {
    std::vector<T> answers(num * num_outputs);
    Workers workers(num_threads, nullptr);
    query(p, Questions<T>{genome, bounds, source, target}, workers, answers.data());
    bool is_right = true;
    for (size_t k = 0; k < num; ++k)
      for (size_t o = 0; o < num_outputs; ++o) is_right &= is_same(answers[o * num + k], wanted[k * num_outputs + o]);
    check(is_right, "answers about pairs are those of a plain loop");
  }
}

// One end fixed, and more points at the other than there were before.
template <class T>
void ask_from(Random& random, const Population<T>& population, End fixed) {
  const Programs<T> p = population.view();
  const std::atomic<bool> stop{false};
  FlushDenormals flush;
  Query<T> query(p, stop);
  bool is_right = true;
  for (int g = 0; g < p.num_genomes(); ++g) {
    query.take(g);
    for (int n : {3, 300}) {
      query.aim(fixed);
      const Ends<T> at = random_ends<T>(random);
      T *x = query.x(n), *y = query.y(n);
      for (int k = 0; k < n; ++k) x[k] = T(random.between(-1.0, 1.0)), y[k] = T(random.between(-1.0, 1.0));
      query.place(n);
      query.fix(at.x1, at.y1);
      for (int begin = 0; begin < n; begin += 200) {
        const int m = std::min(200, n - begin);
        query.run(begin, m);
        for (int k = 0; k < m; ++k) {
          const Ends<T> e = fixed == End::source ? Ends<T>{at.x1, at.y1, x[begin + k], y[begin + k]}
                                                 : Ends<T>{x[begin + k], y[begin + k], at.x1, at.y1};
          const auto wanted = plain_answers(p, g, e);
          for (int o = 0; o < p.num_outputs; ++o) is_right &= is_same(query.output(o)[k], wanted[size_t(o)]);
        }
      }
    }
  }
  check(is_right, "answers with one end fixed are those of a plain loop");
}

template <class T>
void test_all() {
  Random random(1);
  for (const Coordinates& coordinates : {five, eight, apart}) {
    for (bool is_neat_python : {false, true}) {
      const auto population = random_population<T>(random, 40, coordinates, 2, is_neat_python);
      ask_pairs(random, population);
      ask_from(random, population, End::source);
      ask_from(random, population, End::target);
    }
  }
}

}  // namespace

void test_queries() {
  test_all<float>();
  test_all<double>();
}

}  // namespace substrax::test
