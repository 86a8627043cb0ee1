// The positions that were found for one genome: a set of cells, in the order of finding.
//
// A cell whose centre is the place of an input or an output *is* that terminal.
#pragma once

#include <cstdint>
#include <vector>

#include "cell.hpp"
#include "layout.hpp"

namespace substrax {

class Positions {
 public:
  Positions(int depth, const Layout& layout) : order_(depth), layout_(layout) {
    const int64_t cells = first_id(depth + 1);
    is_table_ = cells <= max_table;
    table_.assign(size_t(is_table_ ? cells : first_capacity), 0);
  }

  void clear() {
    if (is_table_) {
      for (uint64_t key : key_) table_[size_t(id_of(order_.cell(key)))] = 0;
    } else {
      table_.assign(first_capacity, 0);
    }
    key_.clear();
    terminal_.clear();
  }
  int size() const { return int(key_.size()); }
  const ReadingOrder& order() const { return order_; }
  uint64_t key(int position) const { return key_[size_t(position)]; }
  int terminal(int position) const { return terminal_[size_t(position)]; }

  // The number of a cell among the positions, which it joins if it is new.
  int add(Cell cell) {
    int32_t& entry = is_table_ ? table_[size_t(id_of(cell))] : hashed(order_.key(cell));
    if (entry) return entry - 1;
    key_.push_back(order_.key(cell));
    terminal_.push_back(layout_.terminal_at(id_of(cell)));
    entry = int32_t(key_.size());
    if (!is_table_ && 2 * key_.size() > table_.size()) grow();
    return int(key_.size()) - 1;
  }
  // The number of a cell, or -1.
  int find(Cell cell) {
    return (is_table_ ? table_[size_t(id_of(cell))] : hashed(order_.key(cell))) - 1;
  }

 private:
  static constexpr int64_t max_table = 1 << 19;  // cells up to which a table is kept
  static constexpr size_t first_capacity = 1 << 12;

  // The entry of a key, or the empty one where it would be.
  int32_t& hashed(uint64_t key) {
    const size_t mask = table_.size() - 1;
    size_t at = size_t((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
    while (table_[at] && key_[size_t(table_[at] - 1)] != key) at = (at + 1) & mask;
    return table_[at];
  }
  void grow() {
    const size_t size = 2 * table_.size();
    table_.assign(size, 0);
    for (size_t p = 0; p < key_.size(); ++p) hashed(key_[p]) = int32_t(p + 1);
  }

  ReadingOrder order_;
  const Layout& layout_;
  bool is_table_;
  std::vector<int32_t> table_;  // positions plus 1, by cell or by hash; 0: none
  std::vector<uint64_t> key_;
  std::vector<int32_t> terminal_;
};

}  // namespace substrax
