// A long list of plain values that is written once and read in runs: in memory up to a
// limit, and beyond it in a file. For the links of one genome before it is known which
// of them stay.
#pragma once

#include <cstdint>
#include <span>

#include "buffer.hpp"
#include "scratch.hpp"

namespace substrax {

template <class V>
class Spool {
 public:
  Spool(int64_t limit_bytes, const OpenScratch& open_scratch)
      : max_values_(limit_bytes / int64_t(sizeof(V))), open_scratch_(open_scratch) {}

  void clear() {
    held_.clear();
    file_.close();
    num_written_ = 0;
  }
  int64_t size() const { return num_written_ + held_.size(); }
  V* room(int64_t n) {
    if (held_.size() && held_.size() + n > max_values_) spill();
    return held_.room(n);
  }
  void grow(int64_t n) { held_.grow(n); }

  // Calls `use` with spans of values, in order, from `begin` to `stop`, until it is true.
  template <class Use>
  bool read(int64_t begin, int64_t stop, Use&& use) {
    while (begin < stop && begin < num_written_) {
      const int64_t n = std::min({stop, num_written_, begin + piece}) - begin;
      loaded_.clear();
      file_.read(loaded_.room(n), n * int64_t(sizeof(V)), begin * int64_t(sizeof(V)));
      if (use(std::span<const V>(loaded_.data(), size_t(n)))) return true;
      begin += n;
    }
    if (begin >= stop) return false;
    return use(std::span<const V>(held_.data() + (begin - num_written_), size_t(stop - begin)));
  }

 private:
  static constexpr int64_t piece = 1 << 16;

  void spill() {
    if (!file_.is_open()) file_.open(open_scratch_);
    file_.write(held_.data(), held_.num_bytes(), num_written_ * int64_t(sizeof(V)));
    num_written_ += held_.size();
    held_.clear();
  }

  int64_t max_values_;
  const OpenScratch& open_scratch_;
  Buffer<V> held_, loaded_;
  ScratchFile file_;
  int64_t num_written_ = 0;
};

}  // namespace substrax
