// The functions of engine.hpp. Included by the files that compile them, and nowhere else.
#pragma once

#include "discovery.hpp"
#include "engine.hpp"
#include "evaluation.hpp"
#include "rule_emr.hpp"
#include "rule_es.hpp"
#include "rule_fixed.hpp"

namespace substrax {

template <class Settings>
struct RuleFor;
template <>
struct RuleFor<EmrSettings> {
  template <class T>
  using Rule = RuleEmr<T>;
};
template <>
struct RuleFor<EsSettings> {
  template <class T>
  using Rule = RuleEs<T>;
};
template <>
struct RuleFor<FixedSettings> {
  template <class T>
  using Rule = RuleFixed<T>;
};

template <class T, class Settings>
Refusal discover(const Programs<T>& programs, const Layout& layout, const Settings& rule,
                 const DiscoverySettings& settings, const OpenScratch& open_scratch, MemoryPool& memory, Workers& workers,
                 std::unique_ptr<Discovered<T>>& found) {
  Discovery<T, RuleFor<Settings>::template Rule, Settings> discovery(programs, layout, settings, rule, open_scratch,
                                                                    memory, workers);
  const Refusal refusal = discovery.run();
  found = discovery.result();
  return refusal;
}

template <class T>
Refusal query(const Programs<T>& programs, const Questions<T>& questions, Workers& workers, T* answers) {
  const int64_t num_runs = int64_t(questions.genome.size());
  const int64_t total = questions.bounds.empty() ? 0 : questions.bounds.back();
  std::atomic<int64_t> next{0};
  constexpr int64_t block = Query<T>::block;
  return workers.run([&](int) {
    FlushDenormals flush;
    Query<T> query(programs, workers.stop());
    for (int64_t run; (run = next.fetch_add(1)) < num_runs;) {
      query.take(questions.genome[size_t(run)]);
      query.aim(End::neither);
      const int64_t stop = questions.bounds[size_t(run) + 1];
      for (int64_t begin = questions.bounds[size_t(run)]; begin < stop; begin += block) {
        const int n = int(std::min(block, stop - begin));
        for (int c = 0; c < 4; ++c) {
          const T* points = (c < 2 ? questions.source : questions.target).data() + 2 * begin + c % 2;
          T* values = query.coordinate(Coordinate(c), block);
          for (int k = 0; k < n; ++k) values[k] = points[2 * k];
        }
        query.place(n);
        query.run(0, n);
        for (int o = 0; o < query.num_outputs(); ++o)
          std::copy_n(query.output(o), n, answers + o * total + begin);
      }
    }
  });
}

// Samples that are worked on side by side: few where there are few.
template <class T, class Use>
Refusal with_lanes(const Networks<T>& networks, const SampleArray<T>& samples, int64_t memory_budget,
                   Workers& workers, Use&& use) {
  const Samples<T> some{samples.values.data(), samples.num_samples, samples.is_shared};
  if (samples.num_samples <= 4) return use(Evaluation<T, 4>(networks, some, memory_budget, workers));
  // Every width takes seconds to compile: doubles do with two.
  if constexpr (sizeof(T) < 8)
    if (samples.num_samples > 32) return use(Evaluation<T, 64>(networks, some, memory_budget, workers));
  return use(Evaluation<T, 16>(networks, some, memory_budget, workers));
}

template <class T>
Refusal evaluate(const Networks<T>& networks, const SampleArray<T>& samples, int steps, int64_t memory_budget,
                 Workers& workers, T* outputs) {
  return with_lanes<T>(networks, samples, memory_budget, workers,
                       [&](auto&& evaluation) { return evaluation.run(steps, outputs); });
}

template <class T>
Refusal advance(const Networks<T>& networks, const SampleArray<T>& samples, int steps, int64_t memory_budget,
                Workers& workers, T* state, T* outputs) {
  return with_lanes<T>(networks, samples, memory_budget, workers,
                       [&](auto&& evaluation) { return evaluation.advance(steps, state, outputs); });
}

}  // namespace substrax
