// The groups of tests; each is a file of its own.
#pragma once

namespace substrax::test {

void test_queries();
void test_discovery();
void test_deep_grids();
void test_streams();
void test_early_ends();
void test_evaluation();

}  // namespace substrax::test
