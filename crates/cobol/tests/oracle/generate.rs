//! Random copybooks.

use crate::copybook::{Body, Case, Domain, Entry, Occurs};
use crate::items::{self, Around};
use crate::random::Random;
use crate::text;

/// Occurrences that a record may have in all.
const CELLS_MAX: usize = 120;

/// The copybook of a seed. `number` names it.
pub(crate) fn case(seed: u64, number: usize) -> Case {
    let mut random = Random::new(seed);
    let replacing = random.one_in(8);
    let mut generator = Generator {
        prefix: if replacing { "TAG-" } else { "" },
        // GnuCOBOL 3.1.2 counts slack and redefinitions in front of a sliding table twice, so a record has the one or the other.
        sliding: random.one_in(2),
        decimal_comma: random.one_in(10),
        next: 1,
        left: 4 + random.below(14),
        counters: Vec::new(),
        random,
    };
    let record = generator.record(number);
    let random = &mut generator.random;
    let renames = if generator.sliding || random.one_in(2) { Vec::new() } else { renames(random, &record) };
    let mut case = Case {
        name: format!("CASE{number:04}"),
        record,
        fragment: random.one_in(3),
        replacing: replacing.then_some("==:T:== BY ==TAG=="),
        decimal_comma: generator.decimal_comma,
        renames,
        text: String::new(),
    };
    case.text = text::render(random, &case);
    case
}

struct Generator {
    random: Random,
    prefix: &'static str,
    sliding: bool,
    decimal_comma: bool,
    next: usize,
    /// Entries still to be made.
    left: usize,
    /// Names; the picture of each holds more than any table has.
    counters: Vec<String>,
}

/// Place of an entry.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    level: usize,
    around: Around,
    /// Product of the occurrences around it.
    cells: usize,
    /// True in storage with more than one view.
    shared: bool,
    /// True in a group with OCCURS.
    table: bool,
}

impl Generator {
    fn record(&mut self, number: usize) -> Entry {
        let around = Around { sync_allowed: !self.sliding, decimal_comma: self.decimal_comma, ..Around::default() };
        let level = self.random.pick(&[&2usize, &3, &5, &5, &5, &10]).to_owned();
        let place = Place { depth: 1, level, around, cells: 1, shared: false, table: false };
        let mut children = Vec::new();
        if self.sliding {
            let mut header: Vec<Entry> = Vec::new();
            for _ in 0..self.random.within(1, 3) {
                header.push(self.counter(place.level));
                if self.random.one_in(3) {
                    header.push(self.item(place));
                }
            }
            if self.random.one_in(3) {
                let deeper = place.level + 3;
                header.iter_mut().for_each(|e| e.level = deeper);
                let name = Some(self.name());
                header = vec![group(place.level, name, header)];
            }
            children.extend(header);
        }
        while self.left > 0 || children.is_empty() {
            self.entries(place, &mut children);
        }
        group(1, Some(format!("{}REC{number}", self.prefix)), children)
    }

    fn name(&mut self) -> String {
        let stem = self.random.pick(&["F", "AMOUNT", "X9", "CUST-NAME", "LONG-NAME-OF-A-FIELD", "1ST"]);
        let n = self.next;
        self.next += 1;
        format!("{}{stem}-{n}", self.prefix)
    }

    fn counter(&mut self, level: usize) -> Entry {
        let name = self.name();
        let (clauses, domain) = loop {
            let (picture, digits, signed) = match self.random.below(5) {
                0 => ("99", 2, false),
                1 => ("S9(3)", 3, true),
                2 => ("9(4)", 4, false),
                3 => ("S9(9)", 9, true),
                _ => ("9(5)", 5, false),
            };
            let usage = self.random.pick(&["", "", "COMP", "BINARY", "COMP-3", "COMP-5", "COMP-6", "LEADING SEPARATE"]);
            if usage == "COMP-6" && signed || usage.starts_with("LEADING") && !signed {
                continue;
            }
            let mut clauses = items::picture_clause(&mut self.random, picture);
            clauses.extend(usage.split_whitespace().map(str::to_owned));
            break (clauses, Domain::Number { digits, scale: 0, signed, binary: None, edited: false });
        };
        let mut entry = leaf(level, Some(name.clone()), clauses, domain);
        if self.random.one_in(4) {
            entry.conditions.push((self.name(), "VALUE 0".to_owned()));
        }
        self.counters.push(name);
        entry
    }

    /// One entry, or a storage with its redefinitions.
    fn entries(&mut self, place: Place, into: &mut Vec<Entry>) {
        if !self.sliding && self.random.one_in(6) {
            return self.storage(place, into);
        }
        let entry = self.entry(place);
        into.push(entry);
    }

    fn entry(&mut self, place: Place) -> Entry {
        self.left = self.left.saturating_sub(1);
        let occurs = self.occurs(place);
        let cells = place.cells * occurs.as_ref().map_or(1, |o| o.max);
        let inner = Place { cells, table: place.table || occurs.is_some(), ..place };
        let groups = place.depth < 5 && place.level < 40 && self.left > 0;
        let chance = if occurs.is_some() { 2 } else { 4 };
        let mut entry = if groups && self.random.one_in(chance) { self.group(inner) } else { self.item(inner) };
        if occurs.is_some() && entry.name.is_none() {
            entry.name = Some(self.name());
        }
        entry.occurs = occurs;
        entry
    }

    fn occurs(&mut self, place: Place) -> Option<Occurs> {
        if place.cells * 2 > CELLS_MAX || !self.random.one_in(4) {
            return None;
        }
        let max = self.random.within(1, (CELLS_MAX / place.cells).min(7));
        let index = self.random.one_in(5).then(|| self.name());
        // Shared storage has one length.
        if self.sliding && !place.shared && self.random.one_in(2) {
            let counter = self.random.below(self.counters.len());
            let min = self.random.below(max + 1);
            let counter = Some(self.counters[counter].clone());
            return Some(Occurs { min, max: max.max(min + 1), counter, index });
        }
        Some(Occurs { min: max, max, counter: None, index })
    }

    fn group(&mut self, place: Place) -> Entry {
        let mut clauses = Vec::new();
        let mut around = place.around;
        if around.usage.is_none() && self.random.one_in(6) {
            let usage = self.random.pick(&["COMP-3", "COMP", "DISPLAY", "COMP-5", "COMP-6"]);
            around.usage = Some(usage);
            clauses.extend(format!("USAGE {usage}").split_whitespace().map(str::to_owned));
        }
        if around.usage.is_none_or(|u| u == "DISPLAY") && self.random.one_in(8) {
            let sign = self.random.pick(&["SIGN LEADING SEPARATE", "SIGN IS TRAILING SEPARATE", "SIGN LEADING"]);
            around.sign = Some(sign);
            clauses.extend(sign.split_whitespace().map(str::to_owned));
        }
        // GnuCOBOL puts the slack behind an occurrence elsewhere than z/OS does.
        around.sync_allowed &= !place.table;
        let step = self.random.within(1, 5);
        let inner = Place { depth: place.depth + 1, level: (place.level + step).min(49), around, ..place };
        let mut children = Vec::new();
        for _ in 0..self.random.within(1, 5) {
            self.entries(inner, &mut children);
        }
        let named = !self.random.one_in(8);
        let name = named.then(|| self.name());
        let mut entry = group(place.level, name, children);
        entry.clauses = clauses;
        entry
    }

    fn item(&mut self, place: Place) -> Entry {
        let (clauses, domain) = items::item(&mut self.random, place.around);
        let filler = self.random.one_in(9);
        let name = (!filler).then(|| self.name());
        let mut entry = leaf(place.level, name, clauses, domain);
        self.value(&mut entry, place);
        if entry.name.is_some() && self.random.one_in(8) {
            self.conditions(&mut entry);
        }
        entry
    }

    /// A VALUE clause that the compiler accepts; none in shared storage and in tables.
    fn value(&mut self, entry: &mut Entry, place: Place) {
        if place.shared || place.cells > 1 || place.around.usage.is_some() || !self.random.one_in(5) {
            return;
        }
        let Body::Item(domain) = &entry.body else { return };
        let literal = match domain {
            Domain::Text { chars, .. } => match self.random.below(4) {
                0 => "SPACES".to_owned(),
                1 if *chars < 20 => "ALL '*'".to_owned(),
                _ => {
                    let n = self.random.within(1, *chars).min(150);
                    // A doubled quote must not be cut in two by a continuation.
                    let last = if n > 20 { 6 } else { 7 };
                    let text: String =
                        (0..n).map(|_| ["A", "b", "Z", " ", "-", "7", "''"][self.random.below(last)]).collect();
                    format!("'{text}'")
                }
            },
            Domain::Number { scale: 0, edited: false, .. } => self.random.pick(&["0", "ZERO", "7", "ZEROS"]).to_owned(),
            _ => return,
        };
        entry.clauses.push(self.random.pick(&["VALUE", "VALUE IS"]).to_owned());
        entry.clauses.push(literal);
    }

    fn conditions(&mut self, entry: &mut Entry) {
        let Body::Item(domain) = &entry.body else { return };
        let values: &[&str] = match domain {
            Domain::Text { .. } => &["VALUE 'A'", "VALUE 'A' 'B' 'C'", "VALUES ARE 'A' THRU 'F', 'X'", "VALUE SPACES"],
            Domain::Number { edited: false, scale: 0, .. } => {
                &["VALUE 1", "VALUES 1 THRU 5", "VALUE ZERO", "VALUES 1, 2, 3"]
            }
            _ => return,
        };
        for _ in 0..self.random.within(1, 3) {
            let name = self.name();
            entry.conditions.push((name, self.random.pick(values).to_owned()));
        }
    }

    /// Generates a field and one to three views of it, most of them no larger than the field.
    fn storage(&mut self, place: Place, into: &mut Vec<Entry>) {
        self.left = self.left.saturating_sub(1);
        let shared = Place { shared: true, ..place };
        let views = self.random.within(1, 3);
        let size = self.random.within(8, 40);
        let free = place.around.usage.is_none() && place.around.sign.is_none();
        let mut storage = if free && self.random.one_in(2) {
            let picture = items::picture_clause(&mut self.random, &format!("X({size})"));
            leaf(place.level, None, picture, Domain::Text { chars: size, justified: false, alphabetic: false })
        } else {
            self.fitting(shared, 60)
        };
        let name = storage.name.take().unwrap_or_else(|| self.name());
        storage.name = Some(name.clone());
        into.push(storage);
        for _ in 0..views {
            let mut entry = self.fitting(shared, size);
            entry.redefines = Some(name.clone());
            into.push(entry);
        }
    }

    /// A view of at most `size` bytes.
    fn fitting(&mut self, place: Place, size: usize) -> Entry {
        let saved = self.left;
        // A group view may begin with SYNC anywhere in the record, so views have none.
        let around = Around { sync_allowed: false, ..place.around };
        loop {
            let mut entry = if self.random.one_in(2) && place.depth < 5 && place.level < 40 {
                self.group(Place { around, cells: CELLS_MAX / 4, ..place })
            } else {
                self.item(Place { around, ..place })
            };
            let nested = entry.all().iter().any(|e| e.redefines.is_some());
            if !nested && bytes_max(&entry) <= size {
                if entry.name.is_none() && self.random.one_in(2) {
                    entry.name = Some(self.name());
                }
                self.left = saved;
                return entry;
            }
        }
    }
}

/// Returns an upper bound of an entry's bytes, from the properties that the generator knows.
fn bytes_max(entry: &Entry) -> usize {
    let one = match &entry.body {
        Body::Group(children) => children.iter().map(bytes_max).sum(),
        Body::Item(domain) => match domain {
            Domain::Text { chars, .. } => *chars,
            Domain::TextEdited { mask } => mask.len(),
            // Edited pictures insert a good deal.
            Domain::Number { edited: true, digits, .. } => digits * 3 + 4,
            Domain::Number { digits, .. } => (*digits).max(7) + 1,
            Domain::Float { .. } => 8,
            Domain::Opaque => 20,
        },
    };
    one * entry.occurs.as_ref().map_or(1, |o| o.max)
}

fn group(level: usize, name: Option<String>, children: Vec<Entry>) -> Entry {
    Entry {
        level,
        name,
        redefines: None,
        occurs: None,
        body: Body::Group(children),
        clauses: Vec::new(),
        conditions: Vec::new(),
    }
}

fn leaf(level: usize, name: Option<String>, clauses: Vec<String>, domain: Domain) -> Entry {
    Entry { level, name, redefines: None, occurs: None, body: Body::Item(domain), clauses, conditions: Vec::new() }
}

/// Level-66 entries over fields that repeat nowhere.
fn renames(random: &mut Random, record: &Entry) -> Vec<(String, String, Option<String>)> {
    let pictured = |e: &Entry| !matches!(e.body, Body::Item(Domain::Float { .. } | Domain::Opaque));
    let single: Vec<&Entry> = record
        .children()
        .iter()
        // GnuCOBOL 3.1.2 refuses the renaming of a pointer and crashes on that of COMP-1 and COMP-2.
        .take_while(|e| e.all().into_iter().all(pictured))
        .filter(|e| e.redefines.is_none() && e.all().iter().all(|below| below.occurs.is_none()))
        .filter(|e| e.name.is_some())
        .collect();
    if single.is_empty() {
        return Vec::new();
    }
    (0..random.within(1, 2))
        .map(|i| {
            let from = random.below(single.len());
            let thru = random.within(from, single.len() - 1);
            let name = |at: usize| single[at].name.clone().expect("filtered by name");
            (format!("RENAMED-{i}"), name(from), (thru > from).then(|| name(thru)))
        })
        .collect()
}
