// Why work cannot go on. Python turns a refusal into the sentence that a user reads.
#pragma once

#include <cstdint>

namespace substrax {

enum class RefusalKind : int {
  none,
  too_many_positions,   // number: positions of one genome
  quadtree_too_large,   // number: blocks of a level; level: that level
  scratch_failed,       // number: errno
};

struct Refusal {
  RefusalKind kind = RefusalKind::none;
  int64_t number = 0;
  int level = 0;
};

struct Stopped {};  // thrown where work ends early because somebody asked for it

}  // namespace substrax
