// The links of a whole population, written once, in the order of genomes: in memory up
// to a limit, and beyond it in files.
//
// Memory is what the discovery before gave back. Where that is not enough, address space
// is reserved for all that there may be, and taken page by page: nothing is moved twice.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "links.hpp"
#include "reservation.hpp"
#include "scratch.hpp"

namespace substrax {

template <class T>
class LinkStore {
 public:
  LinkStore(int64_t limit_bytes, const OpenScratch& open_scratch, MemoryPool& memory)
      : max_links_(limit_bytes / link_bytes), open_scratch_(open_scratch), pool_(memory) {}

  int64_t size() const { return size_; }
  bool is_on_disk() const { return files_[0].is_open(); }

  // Where the next n links go. Calls come in the order of genomes, one at a time.
  int64_t reserve(int64_t n) {
    const int64_t begin = size_;
    size_ += n;
    if (!is_on_disk() && size_ > max_links_) {
      std::unique_lock guard(mode_);  // nobody writes into memory that is given up
      spill(begin);
    }
    if (!is_on_disk())
      for (int c = 0; c < 3; ++c) make_room(c, begin);
    return begin;
  }
  // Writes links to where `reserve` said; several threads may at a time.
  void put(int64_t begin, const Links<T>& links) {
    if (!links.size()) return;
    const void* column[] = {links.source.data(), links.target.data(), links.weight.data()};
    std::shared_lock guard(mode_);
    if (!is_on_disk()) return copy(begin, column, links.size());
    std::unique_lock alone(file_mutex_, std::defer_lock);
    if (!ScratchFile::is_shareable) alone.lock();
    for (int c = 0; c < 3; ++c)
      files_[c].write(column[c], links.size() * width(c), begin * width(c));
  }

  // Nothing more will be written.
  void close() {
    for (int c = 0; c < 3; ++c)
      if (memory_[c]) memory_[c]->trim(size_t(size_ * width(c)));
  }
  // A column's memory, which lives as long as somebody has it; null for none.
  std::shared_ptr<Reservation> memory(int column) { return memory_[column]; }
  int release_file(int column) { return files_[column].release(); }

 private:
  static constexpr int64_t link_bytes = 2 * sizeof(int32_t) + sizeof(T);
  static int64_t width(int column) { return column < 2 ? sizeof(int32_t) : sizeof(T); }

  void make_room(int c, int64_t written) {
    const size_t needed = size_t(size_ * width(c)), most = size_t(max_links_ * width(c));
    if (!memory_[c]) memory_[c] = pool_.take_largest(most, needed);
    if (memory_[c]->size() < needed) {
      std::unique_lock guard(mode_);  // nobody writes into memory that is given up
      auto larger = pool_.make(most, needed);
      larger->commit(needed);
      std::memcpy(larger->data(), memory_[c]->data(), size_t(written * width(c)));
      memory_[c] = std::move(larger);
    }
    memory_[c]->commit(needed);
  }
  void copy(int64_t begin, const void* const* column, int64_t n) {
    for (int c = 0; c < 3; ++c)
      std::memcpy(static_cast<char*>(memory_[c]->data()) + begin * width(c), column[c],
                  size_t(n * width(c)));
  }
  // All or nothing: if a file cannot be had, memory stays, for those who still write there.
  void spill(int64_t written) {
    ScratchFile files[3];
    for (int c = 0; c < 3; ++c) {
      files[c].open(open_scratch_);
      if (memory_[c]) files[c].write(memory_[c]->data(), written * width(c), 0);
    }
    for (int c = 0; c < 3; ++c) files_[c] = std::move(files[c]), memory_[c].reset();
  }

  int64_t max_links_, size_ = 0;
  const OpenScratch& open_scratch_;
  MemoryPool& pool_;
  std::shared_mutex mode_;  // shared by those who write, each to a place of its own
  std::mutex file_mutex_;
  std::shared_ptr<Reservation> memory_[3];
  ScratchFile files_[3];
};

}  // namespace substrax
