// What the engine does, as functions that are compiled once for float and for double.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "discovered.hpp"
#include "layout.hpp"
#include "network.hpp"
#include "program.hpp"
#include "rule_settings.hpp"
#include "workers.hpp"

namespace substrax {

// A population that was taken apart: genome g answers questions `bounds[g]` to
// `bounds[g + 1]`, each about a link between two points.
template <class T>
struct Questions {
  std::span<const int32_t> genome;    // of each run
  std::span<const int64_t> bounds;    // of runs, one more than there are
  std::span<const T> source, target;  // (x, y) each
};

template <class T>
struct SampleArray {
  std::span<const T> values;  // (networks or 1, samples, inputs)
  int64_t num_samples;
  bool is_shared;
};

// Networks of all genomes, by one of the rules; the last argument takes the result.
template <class T, class Settings>
Refusal discover(const Programs<T>& programs, const Layout& layout, const Settings& rule,
                 const DiscoverySettings& settings, const OpenScratch& open_scratch, MemoryPool& memory, Workers& workers,
                 std::unique_ptr<Discovered<T>>& found);

// What the CPPNs say about links between any two points: (outputs, questions).
template <class T>
Refusal query(const Programs<T>& programs, const Questions<T>& questions, Workers& workers, T* answers);

// Outputs of all networks, (networks, samples, outputs): settled if `steps` is 0.
template <class T>
Refusal evaluate(const Networks<T>& networks, const SampleArray<T>& samples, int steps, int64_t memory_budget,
                 Workers& workers, T* outputs);

// The same from states (nodes, samples), which are replaced by those after `steps` steps.
template <class T>
Refusal advance(const Networks<T>& networks, const SampleArray<T>& samples, int steps, int64_t memory_budget,
                Workers& workers, T* state, T* outputs);

}  // namespace substrax
