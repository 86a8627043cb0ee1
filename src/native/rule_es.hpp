// Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), as PUREPLES has it; see substrate/_es.py.
//
// Division: the four members of a quad are divided together, iff the variance over them
// exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
// from the top, a cell whose leaves vary more than `variance_threshold` hands over to
// its children; any other reached cell is tested with its four neighbours (the band).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "buffer.hpp"
#include "rule_settings.hpp"
#include "spool.hpp"
#include "workspace.hpp"

namespace substrax {

template <class T>
class RuleEs {
 public:
  RuleEs(const EsSettings& settings, Workspace<T>& work)
      : s_(settings),
        work_(work),
        division_threshold_(T(settings.division_threshold)),
        band_threshold_(T(settings.band_threshold)),
        tree_(size_t(settings.depth + 1)),
        links_(work.limits.links, work.open_scratch),
        fed_(work.layout) {}

  NetworkCounts wire(int genome, NetworkWriter<T>& writer) {
    work_.begin(genome);
    links_.clear();
    sources_.clear();
    from_inputs();
    rounds();
    to_outputs();
    clean_up();
    return write(writer);
  }

  // The cells that links from (or to) a point may be expressed to, by level, in Z-order:
  // those that pass are.
  std::span<const Candidate<T>> explore(const FixedPoint& point) {
    work_.field.look_from(point);
    // Nothing is expressed within a cell whose upper edge is not above the source, and
    // what can be seen nearly always settles the variances of the cells around it.
    is_upper_part_ = point.is_outgoing && !s_.is_eager;
    divide();
    if (!extract()) {
      is_upper_part_ = false;
      divide();
      extract();
    }
    work_.field.test_band(candidates_.all(), band_threshold_);
    return candidates_.all();
  }

 private:
  // Of the leaves below a quad: how many, their mean, their squared deviations; and
  // whether there are more that nobody looked at.
  struct Leaves {
    double total, mean, deviation;
    bool is_incomplete;
  };
  struct Node {  // a quad of the tree; sets of members are bits
    Quad quad;
    T weight[4];
    int32_t first_child;  // in the next level
    uint8_t permitted;    // by LEO
    uint8_t opened;       // their children were looked at
    bool is_divided;      // its members have children
    bool is_reached;
  };
  struct Level {
    Buffer<Node> nodes;
    Buffer<Leaves> leaves;  // of the nodes
  };
  struct Link {
    int32_t position;
    T weight;
  };
  struct Source {  // of a run of links
    int32_t terminal;  // -1: a position
    int32_t position;
    int64_t first_link;
  };
  struct OutputLink {
    int32_t output, terminal, position;  // from a terminal that is no position, or a position
    T weight;
  };

  // ---- phases

  void from_inputs() {
    for (int a = 0; a < work_.layout.num_inputs; ++a) explore_links({a, -1, links_.size()}, work_.terminal_point(a, true));
  }
  // From each hidden position found and not yet explored.
  void rounds() {
    auto& positions = work_.positions;
    int first = 0;
    for (int round = 0; round < s_.iteration_level && first < positions.size(); ++round) {
      const int stop = positions.size();
      new_.clear();
      for (int p = first; p < stop; ++p) {
        const int t = positions.terminal(p);
        if (t >= 0 && !work_.layout.is_output(t)) continue;  // explored in phase 1
        // By level, i, j; outputs that lie on cells come last, by number.
        const int64_t id = id_of(positions.order().cell(positions.key(p)));
        new_.push_back({t < 0 ? id : first_id(s_.depth + 1) + t, p});
      }
      std::sort(new_.begin(), new_.end(), [](auto& a, auto& b) { return a.order < b.order; });
      for (const auto& n : new_)
        explore_links({positions.terminal(n.position), n.position, links_.size()}, work_.position_point(n.position));
      first = stop;
    }
  }
  void explore_links(const Source& source, const FixedPoint& point) {
    sources_.push_back(source);
    const auto candidates = explore(point);
    Link* link = links_.room(int64_t(candidates.size()));
    int64_t num = 0;
    for (const auto& c : candidates)
      if (c.passes) link[num++] = {work_.positions.add(c.cell), c.weight};
    links_.grow(num);
    work_.check_positions(work_.positions.size());
  }
  // Towards each output; what nobody found before is no source.
  void to_outputs() {
    const Layout& layout = work_.layout;
    output_links_.clear();
    for (int o = 0; o < layout.num_outputs; ++o) {
      for (const auto& c : explore(work_.terminal_point(layout.num_inputs + o, false))) {
        if (!c.passes) continue;
        const int position = work_.positions.find(c.cell);
        const int t = layout.terminal_at(id_of(c.cell));
        if (position >= 0 || t >= 0) output_links_.push_back({o, t, position, c.weight});
      }
    }
  }

  // ---- the quadtree of one field

  void divide() {
    constexpr int at_a_time = Field<T>::quads_at_a_time;
    const double source_y = work_.field.point().y;
    tree_[0].nodes.clear();
    tree_[0].nodes.push(Node{});
    num_levels_ = 0;
    for (int level = 0; level <= s_.depth && tree_[size_t(level)].nodes.size(); ++level) {
      ++num_levels_;
      auto& nodes = tree_[size_t(level)].nodes;
      check_level(level, nodes.size());
      auto* next = level < s_.depth ? &tree_[size_t(level + 1)].nodes : nullptr;
      if (next) next->clear();
      for (int64_t begin = 0; begin < nodes.size(); begin += at_a_time) {
        const int n = int(std::min<int64_t>(nodes.size() - begin, at_a_time));
        ask(level, &nodes[begin], n);
        if (!next) continue;
        next->room(4 * n);
        for (int k = 0; k < n; ++k) {
          Node& node = nodes[begin + k];
          if (node.is_divided || s_.is_eager) open(node, level, source_y, *next);
        }
      }
    }
  }
  void ask(int level, Node* nodes, int n) {
    Quad quads[Field<T>::quads_at_a_time];
    uint8_t varies[Field<T>::quads_at_a_time];
    for (int k = 0; k < n; ++k) quads[k] = nodes[k].quad;
    Field<T>& field = work_.field;
    field.ask(level, quads, n);
    const T *w0 = field.weight(), *w1 = w0 + field.stride(), *w2 = w1 + field.stride(), *w3 = w2 + field.stride();
    for (int k = 0; k < n; ++k) varies[k] = block_variance(w0[k], w1[k], w2[k], w3[k]) > division_threshold_;
    const bool is_always_divided = level < s_.depth && level + 1 < s_.initial_depth;
    for (int k = 0; k < n; ++k) {
      Node& node = nodes[k];
      node.weight[0] = w0[k], node.weight[1] = w1[k], node.weight[2] = w2[k], node.weight[3] = w3[k];
      node.permitted = 15;
      node.opened = 0;
      node.is_divided = is_always_divided || (level < s_.depth && varies[k]);
      node.is_reached = level == 0;
    }
    if (work_.query.num_outputs() < 2) return;
    for (int k = 0; k < n; ++k) {
      nodes[k].permitted = 0;
      for (int m = 0; m < 4; ++m) nodes[k].permitted |= uint8_t(field.is_permitted(m * field.stride() + k) << m);
    }
  }
  // The next level has room.
  void open(Node& node, int level, double source_y, Buffer<Node>& next) {
    node.first_child = int32_t(next.size());
    const double side = power_of_two(-level);
    const int32_t i = 2 * node.quad.i, j = 2 * node.quad.j;
    const auto is_seen = [&](int32_t row) { return !is_upper_part_ || (row + 1) * side - 1.0 > source_y; };
    const bool is_lower_seen = is_seen(j), is_upper_seen = is_seen(j + 1);
    Node* child = next.data() + next.size();
    for (int m = 0; m < 4; ++m) {
      if (!(m & 1 ? is_upper_seen : is_lower_seen)) continue;
      node.opened |= uint8_t(1 << m);
      (child++)->quad = {i + (m >> 1), j + (m & 1)};
    }
    next.grow(child - (next.data() + next.size()));
  }
  void check_level(int level, int64_t num) const {
    constexpr int64_t quad_bytes = 320;
    if (num * quad_bytes > work_.limits.quadtree) throw Refusal{RefusalKind::quadtree_too_large, num, level};
  }

  // The cells that are reached and pass the tests that take no query. False: what can be
  // seen does not settle the variances.
  bool extract() {
    pool();
    candidates_.clear();
    for (int level = 0; level < num_levels_; ++level) {
      auto* below = level + 1 < num_levels_ ? &tree_[size_t(level + 1)] : nullptr;
      // Leaves that a cell of this level has at most.
      const double most = power_of_two(2 * (s_.depth - level));
      const Rows rows = allowed_rows(level);
      candidates_.room(4 * tree_[size_t(level)].nodes.size());
      for (const Node& node : tree_[size_t(level)].nodes.all()) {
        if (!node.is_reached) continue;
        unsigned considered = 15;
        int32_t child = node.first_child;
        for (int m = 0; node.is_divided && m < 4; ++m) {
          if (node.opened >> m & 1) {
            const Leaves& leaves = below->leaves[child];
            bool is_above = leaves.deviation / leaves.total > s_.variance_threshold;
            if (leaves.is_incomplete) {
              // Squared deviations only become more; a margin for the rounding of sums.
              is_above = leaves.deviation > (1.0 + 1e-9) * s_.variance_threshold * most;
              if (!is_above) return false;
            }
            below->nodes[child++].is_reached = is_above;
            considered &= ~(unsigned(is_above) << m);
          }
        }
        consider(node, level, considered & rows.members(node.quad.j));
      }
    }
    return true;
  }
  // Members that differ from their sibling along x, and along y, as bits.
  struct Bands {
    uint8_t across, along;
  };
  Bands bands_of(const Node& node) const {
    const T* w = node.weight;
    const auto differs = [&](T a, T b) { return std::fabs(a - b) > band_threshold_; };
    return {uint8_t(differs(w[0], w[2]) * 5 | differs(w[1], w[3]) * 10),
            uint8_t(differs(w[0], w[1]) * 3 | differs(w[2], w[3]) * 12)};
  }
  // Rows of a level that links from, or to, the point may lead upwards to, or from.
  struct Rows {
    int32_t first, last;

    // Of a quad in row j of the level above, as bits.
    unsigned members(int32_t j) const {
      const auto is_in = [&](int32_t row) { return row >= first && row <= last; };
      return unsigned(is_in(2 * j)) * 5 | unsigned(is_in(2 * j + 1)) * 10;
    }
  };
  Rows allowed_rows(int level) const {
    const FixedPoint& point = work_.field.point();
    const int32_t num = int32_t{2} << level;
    // A first guess of the row that the point lies in, and a look at its neighbours.
    const double guess = (point.y + 1.0) * 0.5 * num;
    int32_t row = int32_t(std::clamp(guess, 0.0, double(num - 1)));
    const auto is_allowed = [&](int32_t j) {
      const double y = Field<T>::centre(j, level);
      return point.is_outgoing ? y > point.y : y < point.y;
    };
    if (point.is_outgoing) {
      row = std::max(row - 1, 0);
      while (row < num && !is_allowed(row)) ++row;
      return {row, num - 1};
    }
    row = std::min(row + 1, num - 1);
    while (row >= 0 && !is_allowed(row)) --row;
    return {0, row};
  }
  void consider(const Node& node, int level, unsigned members) {
    const Bands bands = bands_of(node);
    const T* w = node.weight;
    const unsigned linked = unsigned(w[0] != T(0)) | unsigned(w[1] != T(0)) << 1 | unsigned(w[2] != T(0)) << 2 |
                            unsigned(w[3] != T(0)) << 3;
    members &= unsigned(bands.across | bands.along) & node.permitted & linked;
    Candidate<T>* to = candidates_.data() + candidates_.size();  // there is room
    for (; members; members &= members - 1) {
      const int m = std::countr_zero(members);
      const Cell cell{level, 2 * node.quad.i + (m >> 1), 2 * node.quad.j + (m & 1)};
      *to++ = {cell, w[m], bool(bands.across >> m & 1), bool(bands.along >> m & 1), false};
    }
    candidates_.grow(to - (candidates_.data() + candidates_.size()));
  }
  // Leaves summed up from the bottom, in double; the mean is taken relative to the first
  // member, so that equal leaves have variance 0 exactly.
  void pool() {
    for (int level = num_levels_ - 1; level > 0; --level) {
      Level& here = tree_[size_t(level)];
      const Level* below = level + 1 < num_levels_ ? &tree_[size_t(level + 1)] : nullptr;
      here.leaves.clear();
      Leaves* leaves = here.leaves.room(here.nodes.size());
      here.leaves.grow(here.nodes.size());
      for (const Node& node : here.nodes.all()) *leaves++ = node.is_divided ? pooled(node, below) : members(node);
    }
  }
  // The same for a quad whose members are leaves: 1, times anything, changes no bit.
  static Leaves members(const Node& node) {
    double m[4], deviation[4];
    for (int a = 0; a < 4; ++a) m[a] = double(node.weight[a]);
    const double centre = m[0] + (((m[1] - m[0]) + (m[2] - m[0])) + (m[3] - m[0])) * 0.25;
    for (int a = 0; a < 4; ++a) deviation[a] = (m[a] - centre) * (m[a] - centre);
    return {4.0, centre, ((deviation[0] + deviation[1]) + deviation[2]) + deviation[3], false};
  }
  static Leaves pooled(const Node& node, const Level* below) {
    double n[4], m[4], s[4];
    bool is_incomplete = false;
    int32_t child = node.first_child;
    for (int a = 0; a < 4; ++a) {
      n[a] = 1.0, m[a] = double(node.weight[a]), s[a] = 0.0;
      if (node.opened >> a & 1) {
        const Leaves& leaves = below->leaves[child++];
        n[a] = leaves.total, m[a] = leaves.mean, s[a] = leaves.deviation;
        is_incomplete |= leaves.is_incomplete;
      } else {
        n[a] = 0.0;
        is_incomplete = true;
      }
    }
    const double total = ((n[0] + n[1]) + n[2]) + n[3];
    // Relative to one that counts, which is the first unless nobody looked there.
    const double origin = m[n[0] > 0 ? 0 : std::countr_zero(unsigned(node.opened) | 8)];
    const double shift = n[1] * (m[1] - origin) + n[2] * (m[2] - origin) + n[3] * (m[3] - origin);
    const double centre = origin + shift / total;
    double deviation[4];
    for (int a = 0; a < 4; ++a) deviation[a] = s[a] + n[a] * ((m[a] - centre) * (m[a] - centre));
    return {total, centre, ((deviation[0] + deviation[1]) + deviation[2]) + deviation[3], is_incomplete};
  }

  // ---- the network

  // Keeps what lies on a path from an input to an output.
  void clean_up() {
    const Layout& layout = work_.layout;
    const auto& positions = work_.positions;
    is_alive_.assign(size_t(positions.size()), 0);
    input_position_.assign(size_t(layout.num_inputs), -1);
    fed_.clear();
    for (const OutputLink& link : output_links_) {
      fed_.note(link.terminal, layout.num_inputs + link.output);
      if (link.position >= 0) is_alive_[size_t(link.position)] = 1;
    }
    if (layout.has_terminals_on_cells) {
      for (int p = 0; p < positions.size(); ++p) {
        const int t = positions.terminal(p);
        if (t >= layout.num_inputs) is_alive_[size_t(p)] = 1;
        if (t >= 0 && t < layout.num_inputs) input_position_[size_t(t)] = p;
      }
      for_each_run([&](const Source& source, int64_t begin, int64_t stop) {
        links_.read(begin, stop, [&](auto links) {
          for (const Link& link : links) {
            const int t = positions.terminal(link.position);
            if (t >= layout.num_inputs) fed_.note(source.terminal, t);
          }
          return false;
        });
      });
    }
    fed_.close();
    for (bool changes = true; changes;) {
      changes = false;
      for_each_run([&](const Source& source, int64_t begin, int64_t stop) {
        const int p = source.position >= 0 ? source.position : input_position_[size_t(source.terminal)];
        if (p < 0 || is_alive_[size_t(p)]) return;
        const bool leads_out = links_.read(begin, stop, [&](auto links) {
          for (const Link& link : links)
            if (is_alive_[size_t(link.position)]) return true;
          return false;
        });
        if (leads_out) is_alive_[size_t(p)] = changes = true;
      });
    }
  }
  // From the last to the first: sources found later tend to lie higher.
  template <class Use>
  void for_each_run(Use&& use) {
    int64_t stop = links_.size();
    for (size_t k = sources_.size(); k-- > 0;) {
      use(sources_[k], sources_[k].first_link, stop);
      stop = sources_[k].first_link;
    }
  }
  NetworkCounts write(NetworkWriter<T>& writer) {
    const int num_found = number_nodes();
    const Layout& layout = work_.layout;
    writer.begin_network(int(hidden_key_.size()));
    for (size_t k = 0; k < sources_.size(); ++k) {
      const Source& source = sources_[k];
      const int64_t stop = k + 1 < sources_.size() ? sources_[k + 1].first_link : links_.size();
      const int32_t from = source.terminal >= 0 ? source.terminal : number_[size_t(source.position)];
      if (source.terminal >= 0 ? !fed_.is_fed(source.terminal) : from < 0) continue;
      links_.read(source.first_link, stop, [&](auto links) {
        write_run(writer, from, links);
        return false;
      });
      writer.check_room();
    }
    for (const OutputLink& link : output_links_) {
      const int32_t from = link.terminal >= 0 ? link.terminal : number_[size_t(link.position)];
      if (link.terminal >= 0 && !fed_.is_fed(link.terminal)) continue;
      writer.push_once(from, layout.num_inputs + link.output, link.weight);
    }
    writer.check_room();
    return writer.end_network(work_.positions.order(), hidden_key_, num_found);
  }
  void write_run(NetworkWriter<T>& writer, int32_t from, std::span<const Link> links) {
    if (work_.layout.has_terminals_on_cells) {
      for (const Link& link : links)
        if (number_[size_t(link.position)] >= 0) writer.push_once(from, number_[size_t(link.position)], link.weight);
      return;
    }
    auto& to = writer.links;
    const int64_t n = int64_t(links.size());
    to.room(n + 1);
    int32_t *s = to.source.data() + to.size(), *t = to.target.data() + to.size();
    T* w = to.weight.data() + to.size();
    int64_t count = 0;
    for (const Link& link : links) {  // the next link overwrites one that does not stay
      const int32_t number = number_[size_t(link.position)];
      s[count] = from, t[count] = number, w[count] = link.weight;
      count += number >= 0;
    }
    to.source.grow(count), to.target.grow(count), to.weight.grow(count);
  }
  // Numbers of positions as nodes, -1 for those that do not stay; how many were found.
  int number_nodes() {
    const auto& positions = work_.positions;
    const int num = positions.size();
    hidden_key_.clear();
    number_.assign(size_t(num), -1);
    order_.clear();
    int num_found = 0;
    for (int p = 0; p < num; ++p) {
      const int t = positions.terminal(p);
      num_found += t < 0;
      if (t >= 0) {
        if (is_alive_[size_t(p)] && fed_.is_fed(t)) number_[size_t(p)] = t;
      } else if (is_alive_[size_t(p)]) {
        order_.push_back({int64_t(positions.key(p)), p});
      }
    }
    std::sort(order_.begin(), order_.end(), [](auto& a, auto& b) { return a.order < b.order; });
    for (const auto& o : order_) {
      number_[size_t(o.position)] = work_.layout.num_terminals() + int32_t(hidden_key_.size());
      hidden_key_.push_back(uint64_t(o.order));
    }
    return num_found;
  }

  struct Ordered {
    int64_t order;
    int32_t position;
  };

  const EsSettings s_;
  Workspace<T>& work_;
  const T division_threshold_, band_threshold_;
  std::vector<Level> tree_;
  int num_levels_ = 0;
  bool is_upper_part_ = false;
  Buffer<Candidate<T>> candidates_;
  Spool<Link> links_;
  std::vector<Source> sources_;
  std::vector<OutputLink> output_links_;
  std::vector<Ordered> new_, order_;
  FedOutputs fed_;
  std::vector<uint8_t> is_alive_;
  std::vector<int32_t> number_, input_position_;
  std::vector<uint64_t> hidden_key_;
};

}  // namespace substrax
