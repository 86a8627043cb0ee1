// HyperNEAT (Stanley, D'Ambrosio & Gauci 2009): nodes and possible links are given, the
// CPPN decides which of them are expressed; see decoders/_hyperneat.py.
#pragma once

#include <cstdint>
#include <span>

#include "rule_settings.hpp"
#include "workspace.hpp"

namespace substrax {

template <class T>
class RuleFixed {
 public:
  RuleFixed(const FixedSettings& settings, Workspace<T>& work)
      : s_(settings), work_(work), weight_threshold_(T(settings.weight_threshold)) {}

  NetworkCounts wire(int genome, NetworkWriter<T>& writer) {
    work_.query.take(genome);
    aim();
    const int num_hidden = int(s_.point.size() / 2) - work_.layout.num_terminals();
    writer.begin_network(num_hidden);
    const int64_t num = int64_t(s_.source.size());
    for (int64_t begin = 0; begin < num; begin += Query<T>::block) {
      write(writer, begin, int(std::min<int64_t>(Query<T>::block, num - begin)));
      writer.check_room();
    }
    return writer.end_network(s_.point, s_.rank);
  }

 private:
  void aim() {
    FlushDenormals flush;  // rows that depend on nothing are computed here
    work_.query.aim(End::neither);
  }
  void write(NetworkWriter<T>& writer, int64_t begin, int n) {
    FlushDenormals flush;
    Query<T>& query = work_.query;
    const std::span<const int32_t> ends[] = {s_.source, s_.source, s_.target, s_.target};
    for (int c = 0; c < 4; ++c) {
      T* values = query.coordinate(Coordinate(c), Query<T>::block);
      for (int k = 0; k < n; ++k) values[k] = T(s_.point[size_t(2 * ends[c][size_t(begin + k)] + c % 2)]);
    }
    query.place(n);
    query.run(0, n);
    work_.weight_map.apply(query.output(0), weight_, n);
    const T* leo = query.num_outputs() > 1 ? query.output(1) : nullptr;
    for (int k = 0; k < n; ++k) {
      if (!(std::fabs(weight_[k]) > weight_threshold_) || (leo && !(leo[k] > T(0)))) continue;
      writer.links.push(s_.source[size_t(begin + k)], s_.target[size_t(begin + k)], weight_[k]);
    }
  }

  const FixedSettings s_;
  Workspace<T>& work_;
  const T weight_threshold_;
  T weight_[Query<T>::block + 2 * Query<T>::lanes];
};

}  // namespace substrax
