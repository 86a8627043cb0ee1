// A discovery's result as one text of bytes, wherever its links are: to be compared.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include <unistd.h>

#include "../../src/native/classes.hpp"
#include "../../src/native/engine.hpp"
#include "check.hpp"
#include "files.hpp"

namespace substrax::test {

struct Run {
  std::string bytes;  // of nodes and links
  int64_t num_queries = 0, num_links = 0;
  bool is_on_disk = false, was_stopped = false;
  Refusal refusal;
};

template <class V>
void append(std::string& bytes, const V* data, size_t n) {
  if (n) bytes.append(reinterpret_cast<const char*>(data), n * sizeof(V));
}

inline void append_file(std::string& bytes, int descriptor, size_t num_bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + num_bytes);
  for (size_t done = 0; done < num_bytes;) {
    const ssize_t n = pread(descriptor, bytes.data() + before + done, num_bytes - done, off_t(done));
    if (n <= 0) {
      check(false, "a scratch file is shorter than its links");
      break;
    }
    done += size_t(n);
  }
  close(descriptor);
}

template <class T>
Run read(Discovered<T>& found) {
  Run run;
  run.num_queries = found.num_queries;
  run.is_on_disk = found.links.is_on_disk();
  for (const NetworkCounts& c : found.counts) {
    append(run.bytes, &c.num_nodes, 1), append(run.bytes, &c.num_links, 1), append(run.bytes, &c.num_found, 1);
    run.num_links += c.num_links;
  }
  // One column after the other: how genomes are cut into runs depends on threads.
  const auto append_nodes = [&](auto Nodes::*column) {
    for (const Nodes& nodes : found.nodes) append(run.bytes, (nodes.*column).data(), size_t((nodes.*column).size()));
  };
  append_nodes(&Nodes::activation), append_nodes(&Nodes::rank), append_nodes(&Nodes::point);
  check(found.links.size() == run.num_links, "the store holds as many links as were counted");
  for (int c = 0; c < 3; ++c) {
    const size_t num_bytes = size_t(run.num_links) * (c < 2 ? sizeof(int32_t) : sizeof(T));
    if (run.is_on_disk) {
      append_file(run.bytes, found.links.release_file(c), num_bytes);
    } else if (auto memory = found.links.memory(c)) {
      append(run.bytes, static_cast<const char*>(memory->data()), num_bytes);
    }
  }
  return run;
}

struct Means {
  int num_threads = 1;
  int64_t budget = int64_t{1} << 30;
  OpenScratch open_scratch = open_nameless;
  Poll poll = nullptr;
  mutable MemoryPool memory = {};
};

template <class T, class Settings>
Run run_discovery(const Programs<T>& programs, const Layout& layout, const Settings& rule,
                  DiscoverySettings settings, const Means& means) {
  settings.memory_budget = means.budget;
  Workers workers(means.num_threads, means.poll);
  std::unique_ptr<Discovered<T>> found;
  const Refusal refusal = discover(programs, layout, rule, settings, means.open_scratch, means.memory, workers, found);
  const bool is_whole = refusal.kind == RefusalKind::none && !workers.was_stopped();
  Run run = is_whole ? read(*found) : Run{};
  run.refusal = refusal;
  run.was_stopped = workers.was_stopped();
  return run;
}

}  // namespace substrax::test
