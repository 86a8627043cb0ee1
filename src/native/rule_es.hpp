// Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), as PUREPLES has it; see substrate/_es.py.
//
// Division: the four members of a quad are divided together, iff the variance over them
// exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
// from the top, a cell whose leaves vary more than `variance_threshold` hands over to
// its children; any other reached cell is tested with its four neighbours (the band).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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

  // The cells that links from (or to) a point are expressed to: by level, in Z-order.
  template <class Use>
  void explore(const FixedPoint& point, Use&& use) {
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
    work_.field.test_band(candidates_, band_threshold_);
    for (const auto& c : candidates_)
      if (c.passes) use(FoundCell<T>{c.cell, c.weight});
  }

 private:
  // Of the leaves below a quad: how many, their mean, their squared deviations; and
  // whether there are more that nobody looked at.
  struct Leaves {
    double total, mean, deviation;
    bool is_incomplete;
  };
  struct Node {  // a quad of the tree
    Quad quad;
    T weight[4];
    bool is_permitted[4];
    int32_t first_child;  // in the next level
    bool is_divided;      // its members have children
    uint8_t opened;       // members whose children were looked at, as bits
    bool is_reached;
  };
  struct Level {
    std::vector<Node> nodes;
    std::vector<Leaves> leaves;  // of the nodes
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
    explore(point, [&](const FoundCell<T>& f) {
      *links_.room(1) = {work_.positions.add(f.cell), f.weight};
      links_.grow(1);
    });
    work_.check_positions(work_.positions.size());
  }
  // Towards each output; what nobody found before is no source.
  void to_outputs() {
    const Layout& layout = work_.layout;
    output_links_.clear();
    for (int o = 0; o < layout.num_outputs; ++o) {
      explore(work_.terminal_point(layout.num_inputs + o, false), [&](const FoundCell<T>& f) {
        const int position = work_.positions.find(f.cell);
        const int t = layout.terminal_at(id_of(f.cell));
        if (position >= 0 || t >= 0) output_links_.push_back({o, t, position, f.weight});
      });
    }
  }

  // ---- the quadtree of one field

  void divide() {
    constexpr int at_a_time = Field<T>::quads_at_a_time;
    const double source_y = work_.field.point().y;
    tree_[0].nodes.assign(1, Node{});
    num_levels_ = 0;
    for (int level = 0; level <= s_.depth && !tree_[size_t(level)].nodes.empty(); ++level) {
      ++num_levels_;
      auto& nodes = tree_[size_t(level)].nodes;
      check_level(level, int64_t(nodes.size()));
      auto* next = level < s_.depth ? &tree_[size_t(level + 1)].nodes : nullptr;
      if (next) next->clear();
      for (size_t begin = 0; begin < nodes.size(); begin += at_a_time) {
        const int n = int(std::min(nodes.size() - begin, size_t(at_a_time)));
        ask(level, &nodes[begin], n);
        if (!next) continue;
        for (int k = 0; k < n; ++k) {
          Node& node = nodes[begin + size_t(k)];
          const T* w = node.weight;
          node.is_divided = level + 1 < s_.initial_depth ||
                            block_variance(w[0], w[1], w[2], w[3]) > division_threshold_;
          if (node.is_divided || s_.is_eager) open(node, level, source_y, *next);
        }
      }
    }
  }
  void ask(int level, Node* nodes, int n) {
    Quad quads[Field<T>::quads_at_a_time];
    for (int k = 0; k < n; ++k) quads[k] = nodes[k].quad;
    Field<T>& field = work_.field;
    field.ask(level, quads, n);
    const bool has_leo = work_.query.num_outputs() > 1;
    for (int k = 0; k < n; ++k) {
      Node& node = nodes[k];
      for (int m = 0; m < 4; ++m) {
        const int lane = m * field.stride() + k;
        node.weight[m] = field.weight()[lane];
        node.is_permitted[m] = !has_leo || field.is_permitted(lane);
      }
      node.is_reached = level == 0;
    }
  }
  void open(Node& node, int level, double source_y, std::vector<Node>& next) {
    node.first_child = int32_t(next.size());
    const double side = power_of_two(-level);
    for (int m = 0; m < 4; ++m) {
      const int32_t i = 2 * node.quad.i + (m >> 1), j = 2 * node.quad.j + (m & 1);
      if (is_upper_part_ && !((j + 1) * side - 1.0 > source_y)) continue;
      node.opened |= uint8_t(1 << m);
      next.push_back(Node{});
      next.back().quad = {i, j};
    }
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
      for (const Node& node : tree_[size_t(level)].nodes) {
        if (!node.is_reached) continue;
        int32_t child = node.first_child;
        for (int m = 0; m < 4; ++m) {
          if (node.is_divided && node.opened >> m & 1) {
            const Leaves& leaves = below->leaves[size_t(child)];
            bool is_above = leaves.deviation / leaves.total > s_.variance_threshold;
            if (leaves.is_incomplete) {
              // Squared deviations only become more; a margin for the rounding of sums.
              is_above = leaves.deviation > (1.0 + 1e-9) * s_.variance_threshold * most;
              if (!is_above) return false;
            }
            below->nodes[size_t(child++)].is_reached = is_above;
            if (is_above) continue;
          }
          consider(node, level, m);
        }
      }
    }
    return true;
  }
  void consider(const Node& node, int level, int m) {
    const T w = node.weight[m];
    if (w == T(0) || !node.is_permitted[m]) return;
    const bool differs_across = std::fabs(w - node.weight[m ^ 2]) > band_threshold_;
    const bool differs_along = std::fabs(w - node.weight[m ^ 1]) > band_threshold_;
    if (!differs_across && !differs_along) return;
    const Cell cell{level, 2 * node.quad.i + (m >> 1), 2 * node.quad.j + (m & 1)};
    if (!work_.field.allows(upwards, cell)) return;
    candidates_.push_back({cell, w, differs_across, differs_along, false});
  }
  // Leaves summed up from the bottom, in double; the mean is taken relative to the first
  // member, so that equal leaves have variance 0 exactly.
  void pool() {
    for (int level = num_levels_ - 1; level > 0; --level) {
      Level& here = tree_[size_t(level)];
      const Level* below = level + 1 < num_levels_ ? &tree_[size_t(level + 1)] : nullptr;
      here.leaves.resize(here.nodes.size());
      for (size_t k = 0; k < here.nodes.size(); ++k) here.leaves[k] = pooled(here.nodes[k], below);
    }
  }
  static Leaves pooled(const Node& node, const Level* below) {
    double n[4], m[4], s[4];
    bool is_incomplete = false;
    int32_t child = node.first_child;
    for (int a = 0; a < 4; ++a) {
      n[a] = 1.0, m[a] = double(node.weight[a]), s[a] = 0.0;
      if (!node.is_divided) continue;
      if (node.opened >> a & 1) {
        const Leaves& leaves = below->leaves[size_t(child++)];
        n[a] = leaves.total, m[a] = leaves.mean, s[a] = leaves.deviation;
        is_incomplete |= leaves.is_incomplete;
      } else {
        n[a] = 0.0;
        is_incomplete = true;
      }
    }
    const double total = ((n[0] + n[1]) + n[2]) + n[3];
    const double shift = n[1] * (m[1] - m[0]) + n[2] * (m[2] - m[0]) + n[3] * (m[3] - m[0]);
    const double centre = m[0] + shift / total;
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
  std::vector<Candidate<T>> candidates_;
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
