// Tests of the engine without Python: run with sanitizers by `make test-native`.
// Arguments choose groups by name; without any, all are run.
#include <chrono>
#include <cstring>

#include "check.hpp"
#include "tests.hpp"

int main(int num_arguments, char** arguments) {
  using namespace substrax::test;
  struct Group {
    const char* name;
    void (*run)();
  };
  const Group groups[] = {{"queries", test_queries}, {"discovery", test_discovery}, {"deep", test_deep_grids},
                          {"streams", test_streams}, {"ends", test_early_ends},     {"evaluation", test_evaluation}};
  for (const Group& group : groups) {
    bool is_chosen = num_arguments == 1;
    for (int k = 1; k < num_arguments; ++k) is_chosen |= std::strcmp(arguments[k], group.name) == 0;
    if (!is_chosen) continue;
    const auto began = std::chrono::steady_clock::now();
    group.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%s: %.1f s\n", group.name, took.count());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed ? 1 : 0;
}
