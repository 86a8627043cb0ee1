// Rule `emr`: EMR-HyperNEAT (Claret et al. 2026); see substrate/_emr.py.
//
// Level d <= initial_depth is active; a deeper cell is active iff its parent is and the
// variance over the parent's children exceeds the threshold (eq. 2). Every active cell
// of every level is a candidate; a link is expressed iff |w| > weight_threshold.
//
// `recover` makes the paper's proof true instead: a cell is active whatever its ancestors
// say. Interval bounds then tell where nothing can vary enough; see interval.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "interval.hpp"
#include "rule_settings.hpp"
#include "workspace.hpp"

namespace substrax {

template <class T>
class RuleEmr {
 public:
  RuleEmr(const EmrSettings& settings, Workspace<T>& work)
      : s_(settings),
        work_(work),
        enclosure_(work.programs),
        variance_threshold_(T(settings.variance_threshold)),
        weight_threshold_(T(settings.weight_threshold)),
        fed_(work.layout),
        waiting_(size_t(settings.depth + 1)),
        found_(size_t(settings.depth + 1)) {}

  NetworkCounts wire(int genome, NetworkWriter<T>& writer) {
    genome_ = genome;
    work_.begin(genome);
    from_inputs();
    if (s_.classes) rounds();
    sort_positions();
    to_outputs();
    clean_up();
    return write(writer);
  }

  // The cells that links from (or to) a point are expressed to: by level, in Z-order.
  template <class Use>
  void explore(const FixedPoint& point, int classes, Use&& use) {
    work_.field.look_from(point);
    walk(classes);
    for (auto& level : found_) {
      for (const auto& f : level) use(f);
      level.clear();
    }
  }

 private:
  struct Waiting {  // quads of a level that are to be looked at
    std::vector<Quad> quads;
    std::vector<uint8_t> is_below_active;
    size_t next = 0;
  };
  struct Link {  // between a terminal and a position
    int32_t position;
    T weight;
  };
  struct Range {
    int64_t begin, stop;
  };

  // ---- phase 1, and the optional rounds: exploring fields

  void from_inputs() {
    const int num_inputs = work_.layout.num_inputs;
    input_links_.clear();
    input_bounds_.assign(1, 0);
    for (int a = 0; a < num_inputs; ++a) {
      explore(work_.terminal_point(a, true), upwards, [&](const FoundCell<T>& f) {
        input_links_.push_back({work_.positions.add(f.cell), f.weight});
      });
      work_.check_positions(work_.positions.size());
      input_bounds_.push_back(input_links_.size());
    }
  }
  // As rule `es` does, from new hidden positions; only what is found there counts, as
  // every allowed pair is asked about later.
  void rounds() {
    auto& positions = work_.positions;
    const auto& order = positions.order();
    int first = 0;
    for (int round = 0; round < s_.rounds && first < positions.size(); ++round) {
      const int stop = positions.size();
      for (int p = first; p < stop; ++p) {
        const int terminal = positions.terminal(p);
        if (terminal >= 0 && !work_.layout.is_output(terminal)) continue;  // phase 1 did
        // From and to a terminal, links run upwards whatever the configuration says.
        const int classes = terminal >= 0 ? upwards : s_.classes;
        const double y = order.y(positions.key(p));
        explore(work_.position_point(p), classes, [&](const FoundCell<T>& f) {
          if (work_.layout.terminal_at(id_of(f.cell)) >= 0 && !(y < Field<T>::centre(f.cell.j, f.cell.level)))
            return;
          positions.add(f.cell);
        });
        work_.check_positions(positions.size());
      }
      first = stop;
    }
  }

  // Level by level in pieces: a level's quads wait until those below the piece before
  // are done, so that what waits is bounded whatever the depth.
  void walk(int classes) {
    waiting_[0].quads.assign(1, Quad{0, 0});
    waiting_[0].is_below_active.assign(1, 1);
    waiting_[0].next = 0;
    int level = 0;
    while (level >= 0) {
      Waiting& here = waiting_[size_t(level)];
      if (here.next == here.quads.size()) {
        --level;
        continue;
      }
      const size_t stop = std::min(here.quads.size(), here.next + piece);
      Waiting* below = level < s_.depth ? &waiting_[size_t(level + 1)] : nullptr;
      if (below) below->quads.clear(), below->is_below_active.clear(), below->next = 0;
      visit(level, here, stop, below, classes);
      here.next = stop;
      if (below) ++level;
    }
  }
  void visit(int level, const Waiting& here, size_t stop, Waiting* below, int classes) {
    constexpr size_t at_a_time = Field<T>::quads_at_a_time;
    Quad quads[at_a_time];
    uint8_t is_below_active[at_a_time];
    size_t next = here.next;
    candidates_.clear();
    while (next < stop) {
      int n = 0;
      for (; next < stop && n < int(at_a_time); ++next) {
        const Quad& quad = here.quads[next];
        if (s_.is_recovering && !s_.is_eager && level > s_.initial_depth && !may_vary(level, quad)) continue;
        quads[n] = quad;
        is_below_active[n++] = here.is_below_active[next];
      }
      if (n) look(level, quads, is_below_active, n, below, classes);
    }
    if (!candidates_.empty()) test_band(level);
    work_.check_positions(int64_t(found_[size_t(level)].size()));
  }
  void look(int level, const Quad* quads, const uint8_t* is_below_active, int n, Waiting* below, int classes) {
    Field<T>& field = work_.field;
    field.ask(level, quads, n);
    const int stride = field.stride();
    const T* weight = field.weight();
    uint8_t varies[Field<T>::quads_at_a_time];
    if (level <= s_.initial_depth) {
      std::fill(varies, varies + n, uint8_t(1));
    } else {
      const T* v = s_.is_weight_field ? weight : field.output();
      for (int q = 0; q < n; ++q)  // eq. 2
        varies[q] = block_variance(v[q], v[stride + q], v[2 * stride + q], v[3 * stride + q]) > variance_threshold_;
    }
    for (int q = 0; q < n; ++q) {
      const bool is_active = varies[q] && (s_.is_recovering || is_below_active[q]);
      if (is_active) express(level, quads[q], q, classes);
      if (!below || !(is_active || s_.is_eager || s_.is_recovering)) continue;
      for (int m = 0; m < 4; ++m) {
        below->quads.push_back({2 * quads[q].i + (m >> 1), 2 * quads[q].j + (m & 1)});
        below->is_below_active.push_back(is_active);
      }
    }
  }
  void express(int level, const Quad& quad, int q, int classes) {
    Field<T>& field = work_.field;
    const int stride = field.stride();
    const T* weight = field.weight();
    for (int m = 0; m < 4; ++m) {
      const int lane = m * stride + q;
      if (!(std::fabs(weight[lane]) > weight_threshold_)) continue;
      const Cell cell{level, 2 * quad.i + (m >> 1), 2 * quad.j + (m & 1)};
      if (!field.allows(classes, cell) || !field.is_permitted(lane)) continue;
      if (s_.band_threshold > 0) {
        const auto differs = [&](int other) {
          return std::fabs(weight[lane] - weight[(m ^ other) * stride + q]) > T(s_.band_threshold);
        };
        candidates_.push_back({cell, weight[lane], differs(2), differs(1), false});
      } else {
        found_[size_t(level)].push_back({cell, weight[lane]});
      }
    }
  }
  void test_band(int level) {
    work_.field.test_band(candidates_, T(s_.band_threshold));
    for (const auto& c : candidates_)
      if (c.passes) found_[size_t(level)].push_back({c.cell, c.weight});
  }
  // Whether a quad, or one below it, may vary by more than the threshold.
  bool may_vary(int level, const Quad& quad) {
    // The box that holds the centres of all cells of the quad and below: the parent's
    // square without a margin of half a cell of the deepest level.
    const double side = power_of_two(1 - level), margin = power_of_two(-(s_.depth + 1));
    const double x = quad.i * side - 1.0, y = quad.j * side - 1.0;
    const Box moving{x + margin, y + margin, x + (side - margin), y + (side - margin)};
    const FixedPoint& p = work_.field.point();
    const double px = double(T(p.x)), py = double(T(p.y));
    const Box fixed{px, py, px, py};
    Interval u = p.is_outgoing ? enclosure_.output(genome_, fixed, moving)
                               : enclosure_.output(genome_, moving, fixed);
    if (s_.is_weight_field) {  // weight maps never decrease, also as they are rounded
      constexpr T infinity = std::numeric_limits<T>::infinity();
      u = {double(work_.weight_map(std::nextafter(T(u.low), -infinity))),
           double(work_.weight_map(std::nextafter(T(u.high), infinity)))};
    }
    return !(largest_variance<T>(u) <= double(variance_threshold_));
  }

  // ---- phases 2 and 3: one query for every allowed pair of positions

  void sort_positions() {
    const auto& positions = work_.positions;
    const int num = positions.size();
    sorted_.resize(size_t(num));
    for (int p = 0; p < num; ++p) sorted_[size_t(p)] = {positions.key(p), p};
    std::sort(sorted_.begin(), sorted_.end(), [](auto& a, auto& b) { return a.key < b.key; });
    place_of_.resize(size_t(num));
    for (int k = 0; k < num; ++k) place_of_[size_t(sorted_[size_t(k)].position)] = k;
  }
  double height(int place) const { return work_.positions.order().y(sorted_[size_t(place)].key); }
  int terminal(int place) const { return work_.positions.terminal(sorted_[size_t(place)].position); }

  // Writes all places to the moving points of the query.
  void place_all() {
    const int64_t num = int64_t(sorted_.size());
    const auto& order = work_.positions.order();
    T *x = work_.query.x(num + 1), *y = work_.query.y(num + 1);
    for (int64_t k = 0; k < num; ++k) {
      x[k] = T(order.x(sorted_[size_t(k)].key));
      y[k] = T(order.y(sorted_[size_t(k)].key));
    }
    work_.query.place(num);
  }
  // Asks about places `begin` to `begin + n`; the weights, 0 where LEO forbids a link.
  const T* ask(int64_t begin, int n) {
    work_.query.run(begin, n);
    work_.weight_map.apply(work_.query.output(0), weight_, n);
    if (work_.query.num_outputs() > 1) {
      const T* leo = work_.query.output(1);
      for (int k = 0; k < n; ++k) weight_[k] = leo[k] > T(0) ? weight_[k] : T(0);
    }
    return weight_;
  }
  bool is_strong(T weight) const { return std::fabs(weight) > weight_threshold_; }

  // Phase 3: to every output from all positions below it.
  void to_outputs() {
    const Layout& layout = work_.layout;
    FlushDenormals flush;
    output_links_.clear();
    output_bounds_.assign(1, 0);
    work_.query.aim(End::target);
    place_all();
    for (int o = layout.num_inputs; o < layout.num_terminals(); ++o) {
      work_.query.fix(T(layout.x(o)), T(layout.y(o)));
      // Places are sorted by height.
      int64_t num = int64_t(sorted_.size());
      while (num > 0 && !(height(int(num - 1)) < layout.y(o))) --num;
      for (int64_t begin = 0; begin < num; begin += Query<T>::block) {
        const int n = int(std::min<int64_t>(Query<T>::block, num - begin));
        const T* weight = ask(begin, n);
        for (int k = 0; k < n; ++k)
          if (is_strong(weight[k])) output_links_.push_back({int32_t(begin + k), weight[k]});
      }
      output_bounds_.push_back(output_links_.size());
    }
  }

  // Keeps what leads to an output. That is settled before the pairs of phase 2 are
  // written, so that no link has to be taken back.
  void clean_up() {
    const Layout& layout = work_.layout;
    const int num = int(sorted_.size());
    is_alive_.assign(size_t(num), 0);
    for (const Link& link : output_links_) is_alive_[size_t(link.position)] = 1;
    fed_.clear();
    if (layout.has_terminals_on_cells) {
      for (int k = 0; k < num; ++k)
        if (terminal(k) >= layout.num_inputs) is_alive_[size_t(k)] = 1;
      for (size_t l = 0; l < input_links_.size(); ++l) {
        const int t = work_.positions.terminal(input_links_[l].position);
        if (t >= layout.num_inputs) fed_.note(0, t);
      }
      for (int o = 0; o < layout.num_outputs; ++o)
        for (size_t l = output_bounds_[size_t(o)]; l < output_bounds_[size_t(o) + 1]; ++l)
          fed_.note(terminal(output_links_[l].position), layout.num_inputs + o);
      fed_.close();
      revive_inputs();
    }
    rows();
    if (s_.classes) spread_life();
  }
  // An input that lies on a cell may be the target of a link, if it leads on.
  void revive_inputs() {
    const auto leads_on = [&](int input) {
      for (size_t l = input_bounds_[size_t(input)]; l < input_bounds_[size_t(input) + 1]; ++l)
        if (is_alive_[size_t(place_of_[size_t(input_links_[l].position)])]) return true;
      return false;
    };
    for (bool changes = true; changes;) {
      changes = false;
      for (int k = 0; k < int(sorted_.size()); ++k) {
        const int t = terminal(k);
        if (t < 0 || t >= work_.layout.num_inputs || is_alive_[size_t(k)] || !leads_on(t)) continue;
        is_alive_[size_t(k)] = changes = true;
      }
    }
  }
  // Where the places of each height begin and end.
  void rows() {
    const int num = int(sorted_.size());
    const auto& order = work_.positions.order();
    row_begin_.resize(size_t(num)), row_stop_.resize(size_t(num));
    for (int begin = 0, stop = 0; begin < num; begin = stop) {
      const uint64_t row = order.row(sorted_[size_t(begin)].key);
      while (stop < num && order.row(sorted_[size_t(stop)].key) == row) ++stop;
      for (int k = begin; k < stop; ++k) row_begin_[size_t(k)] = begin, row_stop_[size_t(k)] = stop;
    }
  }
  // A source lives if a link leads from it to one that does. Upwards, one pass from
  // above settles that; other classes may need several.
  void spread_life() {
    const int num = int(sorted_.size());
    int num_dead = int(std::count(is_alive_.begin(), is_alive_.end(), uint8_t(0)));
    if (!num_dead) return;
    FlushDenormals flush;
    work_.query.aim(End::source);
    place_all();
    for (bool changes = true; changes && num_dead;) {
      changes = false;
      for (int k = num - 1; k >= 0; --k) {
        if (is_alive_[size_t(k)] || !leads_to_life(k)) continue;
        is_alive_[size_t(k)] = changes = true;
        --num_dead;
      }
      if (s_.classes == forward) break;
    }
  }
  bool leads_to_life(int place) {
    fix_place(place);
    Range ranges[3];
    const int num_ranges = targets_of(place, ranges);
    for (int r = 0; r < num_ranges; ++r) {
      for (int64_t begin = ranges[r].begin; begin < ranges[r].stop; begin += Query<T>::block) {
        const int n = int(std::min<int64_t>(Query<T>::block, ranges[r].stop - begin));
        const T* weight = ask(begin, n);
        for (int k = 0; k < n; ++k)
          if (is_alive_[size_t(begin + k)] && is_strong(weight[k]) && is_pair(place, int(begin) + k)) return true;
      }
    }
    return false;
  }
  void fix_place(int place) {
    const auto& order = work_.positions.order();
    const uint64_t key = sorted_[size_t(place)].key;
    work_.query.fix(T(order.x(key)), T(order.y(key)));
  }
  // The targets that the configuration allows, as ranges of places: those below, those
  // of the same height (or the source itself), those above.
  int targets_of(int place, Range* ranges) const {
    const int64_t num = int64_t(sorted_.size());
    if ((s_.classes & backward) && (s_.classes & lateral)) {
      ranges[0] = {0, num};
      return 1;
    }
    int n = 0;
    if (s_.classes & backward) ranges[n++] = {0, row_begin_[size_t(place)]};
    if (s_.classes & lateral) {
      ranges[n++] = {row_begin_[size_t(place)], row_stop_[size_t(place)]};
    } else if (s_.classes & self) {
      ranges[n++] = {place, place + 1};
    }
    ranges[n++] = {row_stop_[size_t(place)], num};
    return n;
  }
  int num_ranges() const {
    if ((s_.classes & backward) && (s_.classes & lateral)) return 1;
    return 1 + ((s_.classes & backward) != 0) + ((s_.classes & (lateral | self)) != 0);
  }
  // The ranges hold all pairs that are allowed, and some that are not: a lateral link is
  // no self link, and at inputs and outputs links run upwards whatever the configuration.
  bool is_pair(int source, int target) const {
    const bool is_terminal =
        work_.layout.has_terminals_on_cells && (terminal(source) >= 0 || terminal(target) >= 0);
    return is_allowed(is_terminal ? upwards : s_.classes, height(source), height(target), source == target);
  }

  // ---- the network

  NetworkCounts write(NetworkWriter<T>& writer) {
    number_nodes();
    const Layout& layout = work_.layout;
    writer.begin_network(int(hidden_key_.size()));
    for (int a = 0; a < layout.num_inputs; ++a) {
      for (size_t l = input_bounds_[size_t(a)]; l < input_bounds_[size_t(a) + 1]; ++l) {
        const int place = place_of_[size_t(input_links_[l].position)];
        if (is_kept(place)) writer.push_once(a, number_[size_t(place)], input_links_[l].weight);
      }
      writer.check_room();
    }
    if (s_.classes) write_pairs(writer);
    for (int o = 0; o < layout.num_outputs; ++o) {
      for (size_t l = output_bounds_[size_t(o)]; l < output_bounds_[size_t(o) + 1]; ++l) {
        const int place = output_links_[l].position;
        if (place < 0 || !is_kept(place)) continue;
        writer.push_once(number_[size_t(place)], layout.num_inputs + o, output_links_[l].weight);
      }
      writer.check_room();
    }
    return writer.end_network(work_.positions.order(), hidden_key_, num_found_);
  }
  // Whether a link may lead to a place: an output that nothing feeds has none.
  bool is_kept(int place) const {
    const int t = terminal(place);
    return is_alive_[size_t(place)] && (t < 0 || fed_.is_fed(t));
  }
  void number_nodes() {
    const int num = int(sorted_.size());
    const int num_terminals = work_.layout.num_terminals();
    number_.resize(size_t(num));
    hidden_key_.clear();
    num_found_ = 0;
    for (int k = 0; k < num; ++k) {
      const int t = terminal(k);
      num_found_ += t < 0;
      if (t >= 0) {
        number_[size_t(k)] = t;
      } else if (is_alive_[size_t(k)]) {
        number_[size_t(k)] = num_terminals + int(hidden_key_.size());
        hidden_key_.push_back(sorted_[size_t(k)].key);
      }
    }
  }
  void write_pairs(NetworkWriter<T>& writer) {
    drop_the_rest();
    if (sorted_.empty()) return;
    FlushDenormals flush;
    work_.query.aim(End::source);
    place_all();
    const int num = int(sorted_.size());
    const bool is_plain = !work_.layout.has_terminals_on_cells && !((s_.classes & lateral) && !(s_.classes & self));
    Range ranges[3];
    // Order: all sources for the first kind of range, then all for the next.
    for (int r = 0; r < num_ranges(); ++r) {
      for (int k = 0; k < num; ++k) {
        targets_of(k, ranges);
        if (ranges[r].begin >= ranges[r].stop) continue;
        fix_place(k);
        for (int64_t begin = ranges[r].begin; begin < ranges[r].stop; begin += Query<T>::block) {
          const int n = int(std::min<int64_t>(Query<T>::block, ranges[r].stop - begin));
          const T* weight = ask(begin, n);
          if (is_plain) {
            push_strong(writer.links, k, begin, weight, n);
          } else {
            for (int t = 0; t < n; ++t)
              if (is_strong(weight[t]) && is_pair(k, int(begin) + t))
                writer.push_once(number_[size_t(k)], number_[size_t(begin + t)], weight[t]);
          }
        }
        writer.check_room();
      }
    }
  }
  // Without a branch for each: the next link overwrites one that is too weak.
  void push_strong(Links<T>& links, int source, int64_t begin, const T* weight, int n) {
    links.room(n + 1);
    int32_t* s = links.source.data() + links.size();
    int32_t* t = links.target.data() + links.size();
    T* w = links.weight.data() + links.size();
    const int32_t from = number_[size_t(source)];
    const int32_t* to = number_.data() + begin;
    int count = 0;
    for (int k = 0; k < n; ++k) count += is_strong(weight[k]);
    if (count == n) {
      for (int k = 0; k < n; ++k) s[k] = from, t[k] = to[k], w[k] = weight[k];
    } else if (count) {
      int next = 0;
      for (int k = 0; k < n; ++k) {
        t[next] = to[k], w[next] = weight[k];
        next += is_strong(weight[k]);
      }
      for (int k = 0; k < count; ++k) s[k] = from;
    }
    links.source.grow(count), links.target.grow(count), links.weight.grow(count);
  }
  // What does not live is neither source nor target: pairs are asked about the others.
  void drop_the_rest() {
    int32_t num_kept = 0;
    place_of_.resize(sorted_.size());  // the place that each place becomes, -1 for none
    for (size_t k = 0; k < sorted_.size(); ++k) place_of_[k] = is_kept(int(k)) ? num_kept++ : -1;
    if (size_t(num_kept) == sorted_.size()) return;
    for (size_t k = 0; k < sorted_.size(); ++k) {
      if (place_of_[k] < 0) continue;
      const size_t place = size_t(place_of_[k]);
      sorted_[place] = sorted_[k];
      number_[place] = number_[k];
      is_alive_[place] = 1;
    }
    sorted_.resize(size_t(num_kept));
    for (Link& link : output_links_) link.position = place_of_[size_t(link.position)];
    rows();
  }

  struct Sorted {
    uint64_t key;
    int32_t position;
  };
  static constexpr size_t piece = 4096;  // quads of a level that are followed down at a time

  const EmrSettings s_;
  Workspace<T>& work_;
  Enclosure<T> enclosure_;
  const T variance_threshold_, weight_threshold_;
  FedOutputs fed_;
  int genome_ = 0, num_found_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::vector<FoundCell<T>>> found_;  // of each level
  std::vector<Candidate<T>> candidates_;
  std::vector<Link> input_links_, output_links_;
  std::vector<size_t> input_bounds_, output_bounds_;
  std::vector<Sorted> sorted_;
  std::vector<int32_t> place_of_, number_, row_begin_, row_stop_;
  std::vector<uint64_t> hidden_key_;
  std::vector<uint8_t> is_alive_;
  T weight_[Query<T>::block + 2 * Query<T>::lanes];
};

}  // namespace substrax
