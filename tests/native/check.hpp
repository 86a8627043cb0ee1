// Counting what holds and what does not. A failure is told and counted; the rest goes on.
#pragma once

#include <cstdio>
#include <string>

namespace substrax::test {

struct Tally {
  int passed = 0, failed = 0;
};
inline Tally tally;

inline void check(bool holds, const std::string& what) {
  ++(holds ? tally.passed : tally.failed);
  if (!holds) std::printf("FAILED: %s\n", what.c_str());
}

}  // namespace substrax::test
