// Memory that comes back is kept for the next discovery, up to a limit: the system takes
// its time for every new page, which for small networks is longer than to compute them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "reservation.hpp"

namespace substrax {

class MemoryPool {
 public:
  // Lives as long as somebody has it, also after the pool; then it comes back.
  using Block = std::shared_ptr<Reservation>;

  MemoryPool() : state_(std::make_shared<State>()) {}

  // No more than so many bytes are kept from now on.
  void limit(size_t num_bytes) { state_->limit(num_bytes); }

  // A block of at least so many bytes.
  Block take(size_t num_bytes) {
    const size_t size = std::bit_ceil(std::max(num_bytes, least));
    auto block = state_->find([size](size_t has) { return has >= size; });
    return block ? shared(std::move(block)) : make(size, size);
  }
  // The largest block that is kept; if none is, a new one.
  Block take_largest(size_t wanted, size_t needed) {
    auto block = state_->find([](size_t) { return true; }, true);
    return block ? shared(std::move(block)) : make(wanted, needed);
  }
  // A new block of as many bytes as are wanted, or fewer where a process may not reserve
  // so many.
  Block make(size_t wanted, size_t needed) {
    for (;; wanted /= 4) {
      try {
        return shared(std::make_unique<Reservation>(wanted));
      } catch (const std::bad_alloc&) {
        if (wanted / 4 < needed || wanted < least) throw;
      }
    }
  }

 private:
  static constexpr size_t least = size_t{1} << 16;

  struct State {
    std::mutex mutex;
    std::vector<std::unique_ptr<Reservation>> kept;  // the smallest first
    size_t num_bytes = 0, max_bytes = size_t{256} << 20;

    template <class Fits>
    std::unique_ptr<Reservation> find(Fits&& fits, bool is_last = false) {
      std::lock_guard guard(mutex);
      if (kept.empty()) return nullptr;
      auto at = is_last ? kept.end() - 1
                        : std::find_if(kept.begin(), kept.end(), [&](auto& b) { return fits(b->size()); });
      if (at == kept.end()) return nullptr;
      auto block = std::move(*at);
      kept.erase(at);
      num_bytes -= block->size();
      return block;
    }
    void give(std::unique_ptr<Reservation> block) noexcept {
      std::lock_guard guard(mutex);
      const size_t size = block->size();
      if (num_bytes + size > max_bytes) return;
      try {
        kept.reserve(kept.size() + 1);
      } catch (const std::bad_alloc&) {
        return;
      }
      const auto at = std::find_if(kept.begin(), kept.end(), [&](auto& b) { return b->size() >= size; });
      kept.insert(at, std::move(block));
      num_bytes += size;
    }
    void limit(size_t bytes) {
      std::lock_guard guard(mutex);
      max_bytes = bytes;
      while (!kept.empty() && num_bytes > max_bytes) {
        num_bytes -= kept.back()->size();
        kept.pop_back();
      }
    }
  };

  Block shared(std::unique_ptr<Reservation> block) {
    auto* memory = block.release();
    return Block(memory, [state = state_](Reservation* r) { state->give(std::unique_ptr<Reservation>(r)); });
  }

  std::shared_ptr<State> state_;
};

}  // namespace substrax
