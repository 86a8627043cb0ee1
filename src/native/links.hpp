// Links as they have their shape everywhere: three columns, ends numbered within their
// network, in the order in which a node adds them up.
#pragma once

#include <cstdint>

#include "buffer.hpp"

namespace substrax {

template <class T>
struct Links {
  explicit Links(MemoryPool& pool) : source(pool), target(pool), weight(pool) {}

  Buffer<int32_t> source, target;
  Buffer<T> weight;

  int64_t size() const { return weight.size(); }
  int64_t num_bytes() const { return source.num_bytes() + target.num_bytes() + weight.num_bytes(); }
  void clear() { source.clear(), target.clear(), weight.clear(); }
  void room(int64_t n) { source.room(n), target.room(n), weight.room(n); }
  void push(int32_t s, int32_t t, T w) { source.push(s), target.push(t), weight.push(w); }
};

}  // namespace substrax
