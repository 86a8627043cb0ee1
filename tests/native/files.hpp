// Scratch files for tests: without names, so that nothing is left behind.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string>

#ifdef _WIN32
#error "the tests of the engine run where there is mkstemp"
#endif
#include <unistd.h>

#include "../../src/native/refusal.hpp"

namespace substrax::test {

inline int open_nameless() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/substrax-XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) throw Refusal{RefusalKind::scratch_failed, errno};
  unlink(path.c_str());
  return descriptor;
}

// The number of the next descriptor: grows if files stay open.
inline int next_descriptor() {
  const int d = dup(0);
  close(d);
  return d;
}

}  // namespace substrax::test
