// Bytes on the disk: files without names that grow at their end.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

#include "refusal.hpp"

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace substrax {

// Opens a scratch file and returns its descriptor; where files go is Python's business.
using OpenScratch = std::function<int()>;

class ScratchFile {
 public:
  ScratchFile() = default;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ScratchFile& operator=(ScratchFile&& other) {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~ScratchFile() { close(); }

  // Whether several threads may write at a time, each to a place of its own.
#ifdef _WIN32
  static constexpr bool is_shareable = false;
#else
  static constexpr bool is_shareable = true;
#endif

  bool is_open() const { return descriptor_ >= 0; }
  void open(const OpenScratch& open_scratch) { descriptor_ = open_scratch(); }
  // Hands over the descriptor.
  int release() { return std::exchange(descriptor_, -1); }
  void close() {
    if (is_open()) close_descriptor(release());
  }

  void write(const void* data, int64_t num_bytes, int64_t offset) {
    auto* at = static_cast<const char*>(data);
    while (num_bytes > 0) {
      const int64_t done = write_some(at, num_bytes, offset);
      if (done < 0 && errno == EINTR) continue;  // a signal came in between
      if (done <= 0) throw Refusal{RefusalKind::scratch_failed, done == 0 ? ENOSPC : errno};
      at += done, offset += done, num_bytes -= done;
    }
  }
  void read(void* data, int64_t num_bytes, int64_t offset) const {
    auto* at = static_cast<char*>(data);
    while (num_bytes > 0) {
      const int64_t done = read_some(at, num_bytes, offset);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw Refusal{RefusalKind::scratch_failed, done == 0 ? EIO : errno};
      at += done, offset += done, num_bytes -= done;
    }
  }

 private:
  static constexpr int64_t most = 1 << 30;  // what the system takes in one call

#ifdef _WIN32
  static void close_descriptor(int d) { _close(d); }
  int64_t write_some(const char* at, int64_t n, int64_t offset) const {
    if (_lseeki64(descriptor_, offset, SEEK_SET) < 0) return -1;
    return _write(descriptor_, at, unsigned(n < most ? n : most));
  }
  int64_t read_some(char* at, int64_t n, int64_t offset) const {
    if (_lseeki64(descriptor_, offset, SEEK_SET) < 0) return -1;
    return _read(descriptor_, at, unsigned(n < most ? n : most));
  }
#else
  static void close_descriptor(int d) { ::close(d); }
  int64_t write_some(const char* at, int64_t n, int64_t offset) const {
    return ::pwrite(descriptor_, at, size_t(n < most ? n : most), off_t(offset));
  }
  int64_t read_some(char* at, int64_t n, int64_t offset) const {
    return ::pread(descriptor_, at, size_t(n < most ? n : most), off_t(offset));
  }
#endif

  int descriptor_ = -1;
};

}  // namespace substrax
