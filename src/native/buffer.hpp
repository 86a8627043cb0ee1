// A growing array of plain numbers. Unlike std::vector it does not write what is about
// to be overwritten, it can be filled from behind its end, and its memory may come from a
// pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "memory_pool.hpp"

namespace substrax {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(MemoryPool& pool) : pool_(&pool) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }

  int64_t size() const { return size_; }
  int64_t num_bytes() const { return size_ * int64_t(sizeof(T)); }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](int64_t k) { return data_[size_t(k)]; }
  const T& operator[](int64_t k) const { return data_[size_t(k)]; }
  std::span<T> all() { return {data(), size_t(size_)}; }
  void clear() { size_ = 0; }

  // Room for n more behind the end; `grow` says how many of them were written.
  T* room(int64_t n) {
    if (size_ + n > capacity_) {
      int64_t capacity = std::max(size_ + n, 2 * capacity_);
      auto larger = allocate(capacity);
      if (size_) std::memcpy(larger.get(), data(), size_t(num_bytes()));
      data_ = std::move(larger);
      capacity_ = capacity;
    }
    return data() + size_;
  }
  void grow(int64_t n) { size_ += n; }
  void push(T value) {
    *room(1) = value;
    grow(1);
  }

 private:
  // Room for so many numbers, or for more if a block of the pool has it.
  std::shared_ptr<T[]> allocate(int64_t& capacity) {
    if (!pool_) return std::make_unique_for_overwrite<T[]>(size_t(capacity));
    auto block = pool_->take(size_t(capacity) * sizeof(T));
    block->commit(block->size());
    capacity = int64_t(block->size() / sizeof(T));
    return {block, static_cast<T*>(block->data())};
  }
  void swap(Buffer& other) noexcept {
    std::swap(pool_, other.pool_), data_.swap(other.data_);
    std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
  }

  MemoryPool* pool_ = nullptr;
  std::shared_ptr<T[]> data_;
  int64_t size_ = 0, capacity_ = 0;
};

}  // namespace substrax
