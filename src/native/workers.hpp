// Threads that work while the calling thread watches: it asks now and then whether to go
// on, and tells how far the work is.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "refusal.hpp"

namespace substrax {

struct Progress {
  std::atomic<int64_t> num_done{0}, num_queries{0}, num_links{0};
};

// Called every now and then by the thread that waits; false asks the work to stop.
using Poll = std::function<bool(const Progress&)>;

class Workers {
 public:
  Workers(int num_threads, Poll poll) : num_threads_(num_threads), poll_(std::move(poll)) {}

  const std::atomic<bool>& stop() const { return stop_; }
  Progress& progress() { return progress_; }
  int num_threads() const { return num_threads_; }

  // Runs `work(thread)` in all threads. Returns what was refused, if something was;
  // `was_stopped` says whether somebody asked for an early end.
  template <class Work>
  Refusal run(Work&& work) {
    int num_running = 0;
    std::vector<std::thread> threads;
    threads.reserve(size_t(num_threads_));
    for (int t = 0; t < num_threads_; ++t) {
      count(num_running, 1);
      try {
        threads.emplace_back([&, t] {
          guarded(work, t);
          count(num_running, -1);
        });
      } catch (const std::system_error&) {  // the system has no more: those there are will do
        count(num_running, -1);
        break;
      }
    }
    if (threads.empty()) guarded(work, 0);
    watch(num_running);
    for (auto& thread : threads) thread.join();
    return refusal_;
  }
  bool was_stopped() const { return was_stopped_; }
  bool is_out_of_memory() const { return is_out_of_memory_; }

 private:
  // Nothing is thrown out of a thread: it ends the others, and what it was is kept.
  template <class Work>
  void guarded(Work& work, int thread) {
    try {
      work(thread);
    } catch (const Stopped&) {
    } catch (const Refusal& refusal) {
      fail([&] { if (refusal_.kind == RefusalKind::none) refusal_ = refusal; });
    } catch (const std::bad_alloc&) {
      fail([&] { is_out_of_memory_ = true; });
    } catch (const std::length_error&) {  // an array larger than any memory
      fail([&] { is_out_of_memory_ = true; });
    }
  }
  void count(int& num_running, int change) {
    std::lock_guard guard(mutex_);
    num_running += change;
    is_done_.notify_one();
  }
  template <class Note>
  void fail(Note&& note) {
    std::lock_guard guard(mutex_);
    note();
    stop_ = true;
  }
  void watch(int& num_running) {
    std::unique_lock lock(mutex_);
    while (num_running) {
      is_done_.wait_for(lock, std::chrono::milliseconds(100));
      // Who said no is not asked again: an error of Python's is waiting to be raised.
      if (!num_running || !poll_ || was_stopped_) continue;
      lock.unlock();
      const bool goes_on = poll_(progress_);
      lock.lock();
      if (!goes_on) was_stopped_ = true, stop_ = true;
    }
  }

  int num_threads_;
  Poll poll_;
  std::atomic<bool> stop_{false};
  Progress progress_;
  std::mutex mutex_;
  std::condition_variable is_done_;
  Refusal refusal_;
  bool was_stopped_ = false, is_out_of_memory_ = false;
};

}  // namespace substrax
