//! Proposal of an initial map between two shapes, by names and types. Guesses are marked for review.

use core::cmp::Ordering;
use core::fmt::Write as _;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use quayline_core::{FieldName, NodeId, Occurs, Scalar, Shape};

use crate::LeafRules;
use crate::check::dates::read_date;
use crate::check::types::Kind;
use crate::syntax::name::{is_nameable, quoted_name as name, quoted_path};

/// Source and target of a proposed map.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The file of the source's description, for the head of the map.
    pub source_file: &'a str,
    /// Shape of the source.
    pub source: &'a Shape,
    /// The same shape with other names for the same nodes, such as the descriptive names of a guide.
    pub source_words: Option<&'a Shape>,
    /// Meanings of source fields whose names say little.
    pub source_meanings: &'a [(NodeId, &'a str)],
    /// Groups of the source's root that belong to its envelope. They are proposed only if no other field is similar.
    pub source_aside: &'a [&'a str],
    /// Name of the target.
    pub target_name: &'a str,
    /// The file of its description.
    pub target_file: &'a str,
    /// Shape of the target.
    pub target: &'a Shape,
    /// The same shape with other names for the same nodes.
    pub target_words: Option<&'a Shape>,
    /// Meanings of target fields whose names say little.
    pub target_meanings: &'a [(NodeId, &'a str)],
    /// Groups of the target's root that are about its envelope: the run sets them, so only equal names are proposed.
    pub target_aside: &'a [&'a str],
    /// What is known about leaves beyond their types; the target is output 0.
    pub rules: &'a dyn LeafRules,
}

/// A map that was proposed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proposed {
    /// Text of the map.
    pub text: String,
    /// Fields and lists that are set by equal names.
    pub sure: usize,
    /// Fields and lists that are set by likeness.
    pub guessed: usize,
    /// Fields with equal names whose conversion may cut characters or decimals.
    pub cuts: usize,
    /// Mandatory fields and lists without a similar source.
    pub mandatory_open: usize,
    /// Optional ones.
    pub optional_open: usize,
}

/// Writes a map that sets every target field whose name or path resembles a source field.
///
/// Fields with equal names and matching types are assigned without a mark, except that a conversion that may cut
/// characters or decimals gets the mark `# cuts`. Names that differ only in case or separators are equal, unless several fields of a group have the same
/// letters. Similar names get the mark `# guess`. Fields without a similar source
/// become comments, which say whether the field is mandatory. The map compiles as soon as the mandatory ones are filled in. For a list that no loop
/// iterates, the first occurrence is proposed as a guess. A target that is a row gets a loop over the source's lists, a row for each occurrence.
#[must_use]
pub fn propose(ends: &Ends<'_>) -> Proposed {
    let mut proposal = Proposal {
        source: ends.source,
        target: ends.target,
        source_names: FieldName::of_shape(ends.source),
        target_names: FieldName::of_shape(ends.target),
        words: (ends.source_words.is_some() || ends.target_words.is_some()).then(|| {
            let words = |words: Option<&Shape>, shape: &Shape| {
                FieldName::of_shape(words.filter(|words| words.len() == shape.len()).unwrap_or(shape))
            };
            (words(ends.source_words, ends.source), words(ends.target_words, ends.target))
        }),
        described: (ends.source_words.is_some(), ends.target_words.is_some()),
        meanings: (named(ends.source_meanings), named(ends.target_meanings)),
        aside: (ends.source_aside, ends.target_aside),
        rules: ends.rules,
        twins: (HashSet::new(), HashSet::new()),
        source_paths: HashSet::new(),
        used: HashSet::new(),
        chain: vec![NodeId::ROOT],
        reached: HashMap::new(),
        out: String::new(),
        cuts: 0,
        counts: [0; 4],
    };
    proposal.twins = (twins(ends.source, &proposal.source_names), twins(ends.target, &proposal.target_names));
    proposal.source_paths =
        ends.source.iter().map(|(node, _)| whole_path(ends.source, &proposal.source_names, node)).collect();
    let target_name = free_name(ends);
    let title = format!("{} to {}", ends.source.node(NodeId::ROOT).name, ends.target.node(NodeId::ROOT).name);
    proposal.line(0, &format!("map {}", quoted(&title)));
    proposal.line(0, &format!("source {}", quoted(ends.source_file)));
    proposal.line(0, &format!("target {} {}", name(&target_name), quoted(ends.target_file)));
    proposal.line(0, "");
    let lists = proposal.rows().unwrap_or_default();
    if let Some(innermost) = lists.last() {
        let (path, guess) = (proposal.relative(NodeId::ROOT, *innermost), proposal.mark(false));
        proposal.line(0, &format!("for {path} make {} {{{guess}", name(&target_name)));
    }
    proposal.chain.extend(&lists);
    proposal.group(NodeId::ROOT, "", usize::from(!lists.is_empty()));
    if !lists.is_empty() {
        proposal.line(0, "}");
    }
    let [sure, guessed, mandatory_open, optional_open] = proposal.counts;
    Proposed { text: proposal.out, sure, cuts: proposal.cuts, guessed, mandatory_open, optional_open }
}

/// Returns a name for the target that nothing in its shape has: `make` with the name of the target makes a document, not an item of a list.
fn free_name(ends: &Ends<'_>) -> String {
    let mut free = ends.target_name.to_owned();
    while ends.target.iter().skip(1).any(|(_, node)| node.name == free) {
        free.push_str("_document");
    }
    free
}

struct Proposal<'a> {
    source: &'a Shape,
    target: &'a Shape,
    source_names: Names,
    target_names: Names,
    /// Names for people of source and target.
    words: Option<(Names, Names)>,
    /// Whether source and target have such names.
    described: (bool, bool),
    /// What fields of source and target mean.
    meanings: (HashMap<NodeId, FieldName>, HashMap<NodeId, FieldName>),
    /// Groups of the envelopes of source and target.
    aside: (&'a [&'a str], &'a [&'a str]),
    rules: &'a dyn LeafRules,
    /// Fields of source and target that have a twin: another field of their group with the same letters.
    twins: (HashSet<NodeId>, HashSet<NodeId>),
    /// Paths of all nodes of the source.
    source_paths: HashSet<String>,
    /// Source fields that a guess has taken: another guess of the same field is hardly right.
    used: HashSet<NodeId>,
    /// Groups of the source whose fields can be named, innermost last.
    chain: Vec<NodeId>,
    /// What [`Self::reachable`] returned, by group and number of groups in `chain`.
    reached: HashMap<(NodeId, usize), Rc<[Reached]>>,
    out: String,
    /// Assignments with the mark `# cuts`.
    cuts: usize,
    /// Set for sure, guessed, open though mandatory, open.
    counts: [usize; 4],
}

/// A leaf that can be addressed from a group.
struct Reached {
    path: String,
    node: NodeId,
    /// Lists on the path of which the first occurrence is taken.
    lists: u32,
}

/// A field of the source that may be meant.
struct Candidate {
    path: String,
    node: NodeId,
    score: u32,
    /// Lists on the way whose first occurrence is meant.
    lists: u32,
    nearness: Nearness,
    /// True if another field resembles the target as much.
    is_tied: bool,
}

/// Numbers of equal names of two nodes, from the nodes outwards: without regard to case and separators, and exactly. [`usize::MAX`] for whole paths.
type Nearness = (usize, usize);

/// Equal names.
const SURE: u32 = 100;
/// Equal, or equal in the words that people use.
const EQUAL: u32 = 90;
/// Too little to write down.
const LEAST: u32 = 50;

impl Proposal<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.out, "{:width$}{text}", "", width = if text.is_empty() { 0 } else { depth * 2 })
            .expect("writing to a string does not fail");
    }

    /// Returns the lists of the source, outermost first, whose occurrences are the rows of a target without lists; `None` if the target is another or the
    /// lists add no field.
    fn rows(&self) -> Option<Vec<NodeId>> {
        let targets: Vec<NodeId> = self.target.children(NodeId::ROOT).collect();
        if targets.iter().any(|id| self.target.node(*id).scalar().is_none() || self.target.node(*id).is_list()) {
            return None;
        }
        let lists = |leaf: NodeId| {
            let around = core::iter::successors(self.source.node(leaf).parent, |at| self.source.node(*at).parent);
            let mut lists: Vec<NodeId> = around.filter(|at| self.source.node(*at).is_list()).collect();
            lists.reverse();
            lists
        };
        let fields = self.source.iter().filter(|(_, node)| node.scalar().is_some() && !node.is_list());
        let found: BTreeSet<(NodeId, Vec<NodeId>)> = fields
            .flat_map(|(leaf, _)| targets.iter().map(move |target| (leaf, *target)))
            .filter(|(leaf, target)| self.likeness(*leaf, *target) >= EQUAL)
            .map(|(leaf, target)| (target, lists(leaf)))
            .collect();
        let count = |row: &[NodeId]| {
            let held = found.iter().filter(|(_, lists)| row.starts_with(lists)).map(|(target, _)| *target);
            held.collect::<BTreeSet<NodeId>>().len()
        };
        // Many fields are in the same lists.
        let mut seen = HashSet::new();
        let rows: Vec<&Vec<NodeId>> =
            found.iter().map(|(_, lists)| lists).filter(|lists| seen.insert(*lists)).collect();
        let row = rows.into_iter().rev();
        let row = row.max_by_key(|row| (count(row), core::cmp::Reverse(row.len())))?;
        (count(row) > 1 + count(&[])).then(|| row.clone())
    }

    fn group(&mut self, group: NodeId, prefix: &str, depth: usize) {
        let children: Vec<NodeId> = self.target.children(group).collect();
        for child in children {
            let node = self.target.node(child);
            if group == NodeId::ROOT && self.is_unread(&node.name) {
                continue;
            }
            if !is_nameable(&node.name) {
                let is_mandatory = node.occurs == Occurs::Once;
                self.counts[if is_mandatory { 2 } else { 3 }] += 1;
                self.line(depth, "# a field is left out: maps cannot quote its name");
                continue;
            }
            let path = format!("{prefix}{}", name(&node.name));
            match (node.scalar().cloned(), node.is_list()) {
                (Some(scalar), false) => self.leaf(child, &path, &scalar, depth),
                (None, false) => self.group(child, &format!("{path}."), depth),
                (scalar, true) => self.list(child, &path, scalar.as_ref(), depth),
            }
        }
    }

    /// Returns true for the list of plain segments in documents by guide. A target by guide takes its segments from the other members.
    fn is_unread(&self, name: &str) -> bool {
        !self.aside.1.is_empty() && name == "segments"
    }

    fn leaf(&mut self, node: NodeId, path: &str, scalar: &Scalar, depth: usize) {
        if let Some(list) = self.rules.counted_list(0, node) {
            let list = self.target.path(list);
            self.line(depth, &format!("# {path} is left out: Quayline counts {list}"));
            return;
        }
        // The run sets what the map leaves out of the envelope.
        let mandatory = self.target.node(node).occurs == Occurs::Once
            && self.rules.needs_value(0, node, &|_: NodeId| false)
            && !self.aside.1.contains(&top(self.target, node));
        match self.best(node, scalar) {
            Some(best) => {
                let from = self.source.node(best.node).scalar().cloned();
                let operand = operand(&best.path);
                let value = from.as_ref().and_then(|from| {
                    self.read_date(best.node, node, &operand).or_else(|| converted(&operand, from, scalar))
                });
                let Some(value) = value else { return self.open(node, path, scalar, mandatory, depth) };
                if best.score < SURE {
                    self.used.insert(best.node);
                }
                let guess = match (self.mark(best.score >= SURE), from.is_some_and(|from| cuts(&from, scalar))) {
                    ("", true) => self.cut(),
                    (mark, _) => mark,
                };
                self.line(depth, &format!("{path} = {value}{guess}"));
            }
            None => self.open(node, path, scalar, mandatory, depth),
        }
    }

    /// Returns the expression that reads a date of the source, if the target has dates in another form and therefore takes the value of a date.
    fn read_date(&self, source: NodeId, target: NodeId, path: &str) -> Option<String> {
        let (from, to) = (self.rules.source_dates(source), self.rules.target_dates(0, target));
        let form = from.first().filter(|form| !to.is_empty() && !to.contains(form))?;
        // A date has no time.
        (!to[0].contains("HH")).then(|| read_date(path, form))
    }

    /// Counts a proposed assignment and returns its mark.
    fn mark(&mut self, sure: bool) -> &'static str {
        self.counts[usize::from(!sure)] += 1;
        if sure { "" } else { "  # guess" }
    }

    /// Counts an assignment that may cut its value, and returns its mark.
    fn cut(&mut self) -> &'static str {
        self.cuts += 1;
        "  # cuts"
    }

    /// Writes a comment for a field without a similar source.
    fn open(&mut self, node: NodeId, path: &str, scalar: &Scalar, mandatory: bool, depth: usize) {
        let word = if mandatory { "mandatory" } else { "optional" };
        self.counts[if mandatory { 2 } else { 3 }] += 1;
        let kind = match self.rules.target_dates(0, node).first() {
            Some(format) if format.contains("HH") => Kind::DateTime,
            Some(_) => Kind::Date,
            None => Kind::from(scalar),
        };
        self.line(depth, &format!("# {path} = …  # {word}, {kind}"));
    }

    fn list(&mut self, node: NodeId, path: &str, scalar: Option<&Scalar>, depth: usize) {
        let Some((over, from, is_tied)) = self.best_list(node, scalar.is_some()) else {
            let mandatory = matches!(self.target.node(node).occurs, Occurs::Many { min: 1.., .. });
            let word = if mandatory { "a list that must not be empty" } else { "a list" };
            self.counts[if mandatory { 2 } else { 3 }] += 1;
            self.line(depth, &format!("# for … make {path} {{ … }}  # {word}, nothing alike"));
            return;
        };
        let equal = self.source_names[from.index()].fold() == self.target_names[node.index()].fold();
        let sure = equal && !is_tied && !self.is_ambiguous(from, node) && !self.is_elsewhere(from, node);
        let guess = self.mark(sure);
        let inner = self.source.node(from).scalar().cloned();
        match (scalar, inner) {
            (Some(scalar), Some(inner)) => {
                if let Some(value) = converted("it", &inner, scalar) {
                    let guess = if guess.is_empty() && cuts(&inner, scalar) { self.cut() } else { guess };
                    self.line(depth, &format!("for {over} make {path} = {value}{guess}"));
                }
            }
            (None, None) => {
                self.line(depth, &format!("for {over} make {path} {{{guess}"));
                self.chain.push(from);
                self.reached.clear();
                self.group(node, "", depth + 1);
                self.chain.pop();
                self.reached.clear();
                self.line(depth, "}");
            }
            _ => {}
        }
    }

    /// Returns the source field that resembles a target field most.
    fn best(&mut self, node: NodeId, scalar: &Scalar) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        // Fields within the innermost loop are preferred.
        let is_row = self.target.node(node).parent == Some(NodeId::ROOT);
        let outer = if self.chain.len() > 1 && !is_row { 25 } else { 5 };
        for (distance, context) in (0u32..).zip(self.chain.clone().into_iter().rev()) {
            for reached in &*self.reachable(context) {
                let (leaf, lists) = (reached.node, reached.lists);
                let likeness = self.likeness(leaf, node);
                if likeness < LEAST {
                    continue;
                }
                let Some(from) = self.source.node(leaf).scalar() else { continue };
                if converted("x", from, scalar).is_none() {
                    continue;
                }
                // Prefer no proposal to a wrong one: a field outside of the loop needs an equal name, and so does a text that
                // would have to be converted to a number.
                let is_number = matches!(scalar, Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64);
                let is_far = distance > 0 && self.chain.len() > 1;
                // A long text does not fit a code of two letters.
                let is_cut = matches!((from, scalar), (Scalar::Text { chars_max: Some(own) }, Scalar::Text { chars_max: Some(max) }) if *max <= 3 && *own > 4 * max);
                let is_doubtful = is_far || is_cut || (is_number && matches!(from, Scalar::Text { .. }));
                if (is_doubtful && likeness < EQUAL) || (lists > 0 && !self.is_of_group(leaf, node)) {
                    continue;
                }
                let aside = self.is_aside(leaf) || self.aside.1.contains(&top(self.target, node));
                if (aside || self.used.contains(&leaf)) && likeness < SURE {
                    continue;
                }
                let aside = if aside { 60 } else { 0 };
                let code = if self.is_code(leaf, node) { 30 } else { 0 };
                let score = likeness.saturating_sub(distance * outer + lists * 20 + aside + code);
                if score < LEAST || best.as_ref().is_some_and(|best| score < best.score) {
                    continue;
                }
                let nearness = self.nearness(leaf, node);
                match best.as_mut().map(|best| ((score, nearness).cmp(&(best.score, best.nearness)), best)) {
                    Some((Ordering::Less, _)) => {}
                    Some((Ordering::Equal, best)) => best.is_tied = true,
                    Some((Ordering::Greater, _)) | None => {
                        let path = reached.path.clone();
                        best = Some(Candidate { path, node: leaf, score, lists, nearness, is_tied: false });
                    }
                }
            }
        }
        // The small penalty for the outer context does not make the proposal uncertain.
        best.map(|best| Candidate {
            score: if best.is_tied || self.is_ambiguous(best.node, node) || self.is_elsewhere(best.node, node) {
                best.score.min(SURE - 1)
            } else if best.lists == 0 && !self.is_aside(best.node) && self.likeness(best.node, node) >= SURE {
                SURE
            } else {
                best.score
            },
            ..best
        })
    }

    fn is_same_name(&self, source: NodeId, target: NodeId) -> bool {
        self.source.node(source).name == self.target.node(target).name
    }

    /// Returns how many names of two nodes are equal, from the nodes outwards. Similar branches of a shape differ only in outer names.
    fn nearness(&self, source: NodeId, target: NodeId) -> Nearness {
        let count = |is_equal: &dyn Fn(NodeId, NodeId) -> bool| {
            let mut count = 0;
            let mut at = (source, target);
            while is_equal(at.0, at.1) {
                count += 1;
                match (self.source.node(at.0).parent, self.target.node(at.1).parent) {
                    // The names of the documents do not matter.
                    (Some(NodeId::ROOT), Some(NodeId::ROOT)) => return usize::MAX,
                    (Some(a), Some(b)) if a != NodeId::ROOT && b != NodeId::ROOT => at = (a, b),
                    _ => break,
                }
            }
            count
        };
        let fold = |a: NodeId, b: NodeId| self.source_names[a.index()].fold() == self.target_names[b.index()].fold();
        (count(&fold), count(&|a, b| self.is_same_name(a, b)))
    }

    /// Returns true if the path of a source node is not the target's, but another node of the source has that path.
    fn is_elsewhere(&self, source: NodeId, target: NodeId) -> bool {
        self.nearness(source, target).0 != usize::MAX
            && self.source_paths.contains(&whole_path(self.target, &self.target_names, target))
    }

    /// Returns true if the names differ in case or separators, and another field of one of the two groups has the same letters: `order_id` beside
    /// `order-id`.
    fn is_ambiguous(&self, source: NodeId, target: NodeId) -> bool {
        !self.is_same_name(source, target) && (self.twins.0.contains(&source) || self.twins.1.contains(&target))
    }

    /// Returns true if exactly one of the two is a code or qualifier of another field: `Item description type, coded`.
    fn is_code(&self, leaf: NodeId, target: NodeId) -> bool {
        const CODES: [&str; 4] = ["code", "coded", "qualifier", "type"];
        let kind = |names: &Names, meanings: &HashMap<NodeId, FieldName>, node: NodeId| {
            let name = meanings.get(&node).unwrap_or(&names[node.index()]);
            name.words().iter().any(|word| CODES.contains(&word.as_str()))
        };
        let (from, to) = self.best_names();
        kind(from, &self.meanings.0, leaf) != kind(to, &self.meanings.1, target)
    }

    /// Names for people of source and target, or otherwise those of their shapes.
    fn best_names(&self) -> (&Names, &Names) {
        self.words.as_ref().map_or((&self.source_names, &self.target_names), |(from, to)| (from, to))
    }

    /// Returns true if the first occurrence of a list can correspond to a group of the target. For example, `shipTo.name` is not the name of an
    /// arbitrary first party.
    fn is_of_group(&self, leaf: NodeId, target: NodeId) -> bool {
        let Some(group) = self.target.node(target).parent.filter(|group| *group != NodeId::ROOT) else { return true };
        if self.target.node(group).is_list() {
            return true;
        }
        let mut at = self.source.node(leaf).parent;
        while let Some(around) = at.filter(|around| *around != NodeId::ROOT) {
            let by_words =
                self.words.as_ref().map_or(0, |(from, to)| from[around.index()].likeness(&to[group.index()]));
            let by_names = self.source_names[around.index()].likeness(&self.target_names[group.index()]);
            if by_words.max(by_names) >= LEAST {
                return true;
            }
            at = self.source.node(around).parent;
        }
        false
    }

    /// Returns true if a source leaf belongs to the envelope.
    fn is_aside(&self, leaf: NodeId) -> bool {
        self.aside.0.contains(&top(self.source, leaf))
    }

    /// Returns the leaves that can be addressed from a group.
    fn reachable(&mut self, group: NodeId) -> Rc<[Reached]> {
        let key = (group, self.chain.len());
        if let Some(known) = self.reached.get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[Reached]> = self.leaves_of(group).into();
        self.reached.insert(key, Rc::clone(&found));
        found
    }

    fn leaves_of(&self, group: NodeId) -> Vec<Reached> {
        let mut found = Vec::new();
        let mut todo = vec![(String::new(), group, 0)];
        while let Some((prefix, group, lists)) = todo.pop() {
            for child in self.source.children(group) {
                let node = self.source.node(child);
                if !is_nameable(&node.name) {
                    continue;
                }
                // The loop addresses the list that it iterates.
                if node.is_list() && (lists > 0 || self.chain.contains(&child)) {
                    continue;
                }
                let (first, lists) = if node.is_list() { ("[first]", lists + 1) } else { ("", lists) };
                let path = format!("{prefix}{}{first}", name(&node.name));
                if node.scalar().is_some() {
                    found.push(Reached { path, node: child, lists });
                } else {
                    todo.push((format!("{path}."), child, lists));
                }
            }
        }
        found.sort_by_key(|reached| reached.node);
        found
    }

    /// Returns the similarity of two nodes by their names or, slightly discounted, by their descriptive names.
    fn likeness(&self, source: NodeId, target: NodeId) -> u32 {
        let by_name = self.alike_in(&self.source_names, source, &self.target_names, target);
        let by_name = by_name.max(self.by_meaning(source, target));
        let is_known = self.meanings.0.contains_key(&source) || self.meanings.1.contains_key(&target);
        let Some((from, to)) = self.words.as_ref().filter(|_| !is_known) else { return by_name };
        // `Description` and `Date` are names of elements in many segments: only their meaning counts.
        let is_general = |shape: &Shape, names: &Names, node: NodeId| {
            shape.node(node).scalar().is_some() && names[node.index()].words().len() < 2
        };
        match self.described {
            (true, false) if is_general(self.source, from, source) => by_name,
            (false, true) if is_general(self.target, to, target) => by_name,
            _ => by_name.max(self.alike_in(from, source, to, target).min(SURE) * 9 / 10),
        }
    }

    /// Returns the similarity of what two fields mean; 0 if neither has a known meaning.
    fn by_meaning(&self, source: NodeId, target: NodeId) -> u32 {
        let (from, to) = self.best_names();
        match (self.meanings.0.get(&source), self.meanings.1.get(&target)) {
            (Some(a), Some(b)) => a.likeness(b) * 9 / 10,
            (Some(meaning), None) => {
                meaning.meant((self.source, from, source), (self.target, &self.target_names, target))
            }
            (None, Some(meaning)) => {
                meaning.meant((self.target, to, target), (self.source, &self.source_names, source))
            }
            (None, None) => 0,
        }
    }

    /// Returns the similarity by one set of names, including the names of the enclosing groups.
    fn alike_in(&self, from: &Names, source: NodeId, to: &Names, target: NodeId) -> u32 {
        let (a, b) = (&from[source.index()], &to[target.index()]);
        let own = a.likeness(b);
        let parents = (self.source.node(source).parent, self.target.node(target).parent);
        if own == 0 {
            // `buyer.name` and `buyer-name`.
            let joins = |names: &Names, parent: Option<NodeId>, own: &FieldName, whole: &str| {
                let own = whole.strip_suffix(own.fold());
                own.zip(parent).is_some_and(|(rest, parent)| rest == names[parent.index()].fold())
            };
            let one = joins(from, parents.0, a, b.fold()) || joins(to, parents.1, b, a.fold());
            return if one { 90 } else { 0 };
        }
        let around = match parents {
            (Some(a), Some(b)) => from[a.index()].likeness(&to[b.index()]),
            _ => 0,
        };
        own + if own >= SURE { around / 20 } else { around / 10 }
    }

    /// Returns the list of the source that resembles a target list most, with its path, and whether another one does so as much.
    fn best_list(&mut self, target: NodeId, leaf: bool) -> Option<(String, NodeId, bool)> {
        let mut best: Option<((u32, Nearness), NodeId, bool)> = None;
        let source = self.source;
        for context in self.chain.clone().into_iter().rev() {
            let end = source.node(context).subtree_end;
            let lists = source
                .iter()
                .filter(|(id, node)| *id > context && *id < end && node.is_list() && node.scalar().is_some() == leaf)
                .filter(|(id, _)| is_nameable(&source.path(*id)));
            for (list, _) in lists {
                let by_name = self.likeness(list, target);
                let fields = self.reachable(list);
                let is_like = |child: &NodeId| {
                    let mut own = fields.iter().filter(|field| field.lists == 0);
                    own.any(|field| self.likeness(field.node, *child) >= LEAST)
                };
                let alike = self.target.children(target).filter(is_like).count();
                let by_fields = u32::try_from(alike * 30).unwrap_or(u32::MAX / 2);
                // A list with different fields whose name is only similar does not qualify.
                if !leaf && by_fields == 0 && by_name < EQUAL {
                    continue;
                }
                let score = (by_name + by_fields, self.nearness(list, target));
                match &mut best {
                    _ if score.0 < LEAST => {}
                    Some((known, ..)) if score < *known => {}
                    Some((known, _, is_tied)) if score == *known => *is_tied = true,
                    _ => best = Some((score, list, false)),
                }
            }
            if let Some((_, list, is_tied)) = best {
                return Some((self.relative(context, list), list, is_tied));
            }
        }
        None
    }

    /// Returns the path of a node relative to an enclosing group.
    fn relative(&self, from: NodeId, to: NodeId) -> String {
        quoted_path(self.source, from, to)
    }
}

/// Returns an expression that converts a value to another type, if a function does so unambiguously.
fn converted(path: &str, from: &Scalar, to: &Scalar) -> Option<String> {
    match (from, to) {
        (Scalar::Text { chars_max: own }, Scalar::Text { chars_max: Some(max) })
            if own.is_none_or(|own| own > *max) =>
        {
            Some(format!("left({path}, {max})"))
        }
        (Scalar::Text { .. }, Scalar::Text { .. })
        | (Scalar::Decimal { .. }, Scalar::Text { .. } | Scalar::Float32 | Scalar::Float64)
        | (Scalar::Bool, Scalar::Bool)
        | (Scalar::Bytes { .. }, Scalar::Bytes { .. })
        | (Scalar::Float32 | Scalar::Float64, Scalar::Float32 | Scalar::Float64) => Some(path.to_owned()),
        (Scalar::Decimal { scale: own, .. }, Scalar::Decimal { scale, .. }) => {
            Some(if own > scale { format!("round({path}, {})", (*scale).max(0)) } else { path.to_owned() })
        }
        (Scalar::Text { .. }, Scalar::Decimal { .. }) => Some(format!("number({path})")),
        (Scalar::Text { .. }, Scalar::Float32 | Scalar::Float64) => Some(format!("float({path})")),
        (Scalar::Float32 | Scalar::Float64, Scalar::Decimal { scale, .. }) => {
            Some(format!("round({path}, {})", (*scale).max(0)))
        }
        (Scalar::Bool, Scalar::Text { .. }) => Some(format!("if {path} then \"Y\" else \"N\"")),
        (Scalar::Text { .. }, Scalar::Bool) => Some(format!("{path} = \"Y\"")),
        (Scalar::Bytes { .. }, Scalar::Text { .. }) => Some(format!("hex({path})")),
        _ => None,
    }
}

/// Returns whether the conversion of [`converted`] may cut a value.
fn cuts(from: &Scalar, to: &Scalar) -> bool {
    match (from, to) {
        (Scalar::Text { chars_max: own }, Scalar::Text { chars_max: Some(max) }) => own.is_none_or(|own| own > *max),
        (Scalar::Decimal { scale: own, .. }, Scalar::Decimal { scale, .. }) => own > scale,
        (Scalar::Float32 | Scalar::Float64, Scalar::Decimal { .. }) => true,
        _ => false,
    }
}

/// Names of a shape's nodes, by id.
type Names = Vec<FieldName>;

/// Returns the name of the group of the root that a node is in, or its own.
fn top(shape: &Shape, node: NodeId) -> &str {
    let around = core::iter::successors(Some(node), |at| shape.node(*at).parent);
    around.take_while(|at| *at != NodeId::ROOT).last().map_or("", |at| shape.node(at).name.as_str())
}

/// Returns the path of a node without regard to case and separators.
fn whole_path(shape: &Shape, names: &Names, node: NodeId) -> String {
    let around = core::iter::successors(Some(node), |at| shape.node(*at).parent);
    around.take_while(|at| *at != NodeId::ROOT).map(|at| format!("{}\n", names[at.index()].fold())).collect()
}

/// Returns the nodes whose name has the same letters as that of another node of their group, such as `order_id` and `order-id`.
fn twins(shape: &Shape, names: &Names) -> HashSet<NodeId> {
    let key = |node: NodeId| (shape.node(node).parent, names[node.index()].fold());
    let mut counts: HashMap<(Option<NodeId>, &str), u32> = HashMap::new();
    for (node, _) in shape.iter() {
        *counts.entry(key(node)).or_default() += 1;
    }
    shape.iter().map(|(node, _)| node).filter(|node| counts[&key(*node)] > 1).collect()
}

fn named(meanings: &[(NodeId, &str)]) -> HashMap<NodeId, FieldName> {
    meanings.iter().map(|(node, meaning)| (*node, FieldName::new(meaning))).collect()
}

/// Returns a path as an operand. A name of digits would be a number there, unless a name that begins with a letter follows.
fn operand(path: &str) -> String {
    let digits = path.bytes().take_while(u8::is_ascii_digit).count();
    let (first, rest) = path.split_at(digits);
    let is_number = match rest.as_bytes() {
        [] | [b'[', ..] => true,
        [b'.', next, ..] => next.is_ascii_digit(),
        _ => false,
    };
    if digits > 0 && is_number { format!("'{first}'{rest}") } else { path.to_owned() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
