//! The store on the listener for operators: `/store`, saves while it works, and its part of `/metrics`.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quayline_store::save::{Packing, PartsSaved};
use quayline_store::{FileUse, Owner, OwnerFacts, Sampled, Store, StoreError};

use crate::admin_part::{AdminAnswer, AdminPart, AdminRequest};
use crate::api::v1::{self, Status};

/// Saves the store under a name, or continues there. It holds its thread until the save is complete.
pub type StoreSaver = Arc<dyn Fn(&str, Packing) -> Result<PartsSaved, StoreError> + Send + Sync>;

/// Operators' view of a store (content and cost of units of work), and backups of the running store.
pub struct StorePart {
    store: Store,
    saver: StoreSaver,
    /// The save that runs, or that ran last.
    save: Arc<Mutex<Option<Save>>>,
}

struct Save {
    name: String,
    /// `None` while it runs.
    outcome: Option<Result<PartsSaved, StoreError>>,
}

/// Longest name of a save.
const NAME_BYTES_MAX: usize = 64;

impl AdminPart for StorePart {
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let rest = request.path.strip_prefix("/store")?;
        let mut allow = None;
        let mut takes = |methods: &str| {
            allow = Some(if methods == "GET" { "GET, HEAD" } else { methods }.to_owned());
            (405, v1::text(&Status::new(format!("the path takes {methods}"))))
        };
        let (status, body) = match (request.method, rest.strip_prefix("/save/"), rest) {
            ("GET", None, "") => (200, v1::text(&self.state())),
            ("GET", None, "/save") => (200, self.save_state()),
            ("POST", Some(name), _) => {
                let packing = if request.query == "compress" { Packing::Deflate } else { Packing::None };
                self.begin_save(name, packing)
            }
            (_, None, "" | "/save") => takes("GET"),
            (_, Some(_), _) => takes("POST"),
            _ => return None,
        };
        Some(AdminAnswer { allow, ..AdminAnswer::new(status, "application/json", format!("{body}\n").into_bytes()) })
    }

    fn answer(&self, _: &str, _: &str) -> Option<(u16, String)> {
        None
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, help: &str, kind: &str, samples: &[(String, f64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let (engine, usage) = (self.store.facts(), self.store.usage());
        let one = |value: u64| vec![(String::new(), value as f64)];
        let seconds = |micros: u64| vec![(String::new(), micros as f64 / 1e6)];
        for (name, help, value) in [
            ("quayline_store_units_total", "Units of work that committed changes.", usage.committed),
            ("quayline_store_rollbacks_total", "Units of work that rolled changes back.", usage.rolled_back),
            ("quayline_store_changes_total", "Changes that committed.", usage.changes),
            ("quayline_store_groups_total", "Groups of units: each one write and one sync.", engine.groups),
            ("quayline_store_syncs_total", "Syncs of the log.", engine.syncs),
            ("quayline_store_lock_waits_total", "Times that a unit waited for a record lock.", usage.lock_waits),
            ("quayline_store_lock_timeouts_total", "Waits for a lock that ended by their limit.", usage.lock_timeouts),
            ("quayline_store_deadlocks_total", "Units that were refused a lock to end a deadlock.", usage.deadlocks),
            ("quayline_store_message_waits_total", "Times that a get waited for a message.", usage.message_waits),
        ] {
            family(name, help, "counter", &one(value));
        }
        for (name, help, micros) in [
            ("quayline_store_commit_seconds_total", "Time from commits to their outcome.", usage.commit_us),
            ("quayline_store_sync_seconds_total", "Time in syncs of the log.", engine.sync_us),
            ("quayline_store_lock_wait_seconds_total", "Time of threads that waited for a lock.", usage.lock_wait_us),
            (
                "quayline_store_message_wait_seconds_total",
                "Time of threads that waited for a message.",
                usage.message_wait_us,
            ),
            (
                "quayline_store_stalled_seconds_total",
                "Time that commits waited for the applied store.",
                engine.stalled_us,
            ),
        ] {
            family(name, help, "counter", &seconds(micros));
        }
        for (name, help, value) in [
            ("quayline_store_units_open", "Units of work that are open.", self.store.units_open() as u64),
            ("quayline_store_locks_held", "Record locks that are held.", self.store.locks_held() as u64),
            ("quayline_store_log_bytes", "Bytes of the log that are not applied.", engine.log_bytes),
            ("quayline_store_delta_bytes", "Bytes of changes in memory.", engine.delta_bytes),
            ("quayline_store_bytes", "Bytes of the applied store.", engine.store_bytes),
            ("quayline_store_group_units_max", "Units of the largest group.", engine.group_units_max),
        ] {
            family(name, help, "gauge", &one(value));
        }
        let by_kind = |value: &dyn Fn(Sampled) -> f64| {
            let kinds = [("file", usage.files), ("queue", usage.queues), ("commit", usage.commits)];
            kinds.map(|(kind, sampled)| (format!("{{operation=\"{kind}\"}}"), value(sampled))).to_vec()
        };
        let help = "CPU time of the operations that were measured: those of one unit of work in 32.";
        family(
            "quayline_store_sampled_cpu_seconds_total",
            help,
            "counter",
            &by_kind(&|sampled| sampled.cpu_ns as f64 / 1e9),
        );
        let help = "Operations that were measured.";
        family("quayline_store_sampled_operations_total", help, "counter", &by_kind(&|sampled| sampled.count as f64));
        let owners = self.owners();
        let by_owner = |value: &dyn Fn(&OwnerFacts) -> f64| -> Vec<(String, f64)> {
            owners.iter().map(|(owner, facts)| (labels(owner), value(facts))).collect()
        };
        type OfOwner = fn(&OwnerFacts) -> f64;
        let families: [(&str, &str, OfOwner); 7] = [
            (
                "quayline_store_by_owner_sampled_cpu_seconds_total",
                "CPU time of the operations that were measured, by record file and queue.",
                |facts| facts.cpu.cpu_ns as f64 / 1e9,
            ),
            (
                "quayline_store_by_owner_sampled_operations_total",
                "Operations that were measured, by record file and queue.",
                |facts| facts.cpu.count as f64,
            ),
            (
                "quayline_store_by_owner_lock_waits_total",
                "Times that a unit waited for a record lock, by record file and queue.",
                |facts| facts.lock_waits as f64,
            ),
            (
                "quayline_store_by_owner_lock_wait_seconds_total",
                "Time of units that waited for a record lock, by record file and queue.",
                |facts| facts.lock_wait_us as f64 / 1e6,
            ),
            (
                "quayline_store_by_owner_lock_timeouts_total",
                "Waits for a record lock that ended by their limit, by record file and queue.",
                |facts| facts.lock_timeouts as f64,
            ),
            (
                "quayline_store_by_owner_deadlocks_total",
                "Units that were refused a lock to end a deadlock, by record file and queue.",
                |facts| facts.deadlocks as f64,
            ),
            (
                "quayline_store_by_owner_message_wait_seconds_total",
                "Time of gets that waited for a message, by queue.",
                |facts| facts.message_wait_us as f64 / 1e6,
            ),
        ];
        for (name, help, value) in families {
            family(name, help, "counter", &by_owner(&value));
        }
        let files = self.store.used_files().unwrap_or_default();
        let by_file = |value: &dyn Fn(&FileUse) -> u64| -> Vec<(String, f64)> {
            files.iter().map(|(name, uses)| (format!("{{file=\"{name}\"}}"), value(uses) as f64)).collect()
        };
        type OfFile = fn(&FileUse) -> u64;
        let uses: [(&str, &str, OfFile); 7] = [
            ("quayline_file_inserted_total", "Records inserted.", |uses| uses.inserted),
            ("quayline_file_updated_total", "Records replaced.", |uses| uses.updated),
            ("quayline_file_deleted_total", "Records deleted.", |uses| uses.deleted),
            ("quayline_file_read_total", "Records read.", |uses| uses.read),
            ("quayline_file_lookups_total", "Looks into record files.", |uses| uses.lookups),
            ("quayline_file_index_missed_total", "Lookups that read an index page from the medium.", |uses| {
                uses.index_missed
            }),
            ("quayline_file_data_missed_total", "Lookups that read a data page from the medium.", |uses| {
                uses.data_missed
            }),
        ];
        for (name, help, value) in uses {
            family(name, help, "counter", &by_file(&value));
        }
        let queues = self.store.open_queues();
        let by_queue = |value: &dyn Fn(&quayline_store::queue::QueueFacts) -> u64| -> Vec<(String, f64)> {
            queues.iter().map(|(name, facts)| (format!("{{queue=\"{name}\"}}"), value(facts) as f64)).collect()
        };
        family("quayline_queue_depth", "Messages on the queue.", "gauge", &by_queue(&|facts| facts.depth));
        family("quayline_queue_put_total", "Messages put.", "counter", &by_queue(&|facts| facts.put));
        family("quayline_queue_got_total", "Messages got.", "counter", &by_queue(&|facts| facts.got));
        family("quayline_queue_depth_high", "Greatest depth.", "gauge", &by_queue(&|facts| facts.depth_high));
        family(
            "quayline_queue_above_mark",
            "1 from the depth's rise to the high mark until its fall to the low mark.",
            "gauge",
            &by_queue(&|facts| u64::from(facts.is_above_mark)),
        );
        let mut events = Vec::new();
        for (name, facts) in &queues {
            for (mark, count) in [("high", facts.depth_high_events), ("low", facts.depth_low_events)] {
                events.push((format!("{{queue=\"{name}\",mark=\"{mark}\"}}"), count as f64));
            }
        }
        family("quayline_queue_depth_events_total", "Marks of the depth that were crossed.", "counter", &events);
        family(
            "quayline_queue_depth_events_lost_total",
            "Events of the depth that could not be put on the event queue.",
            "counter",
            &by_queue(&|facts| facts.depth_events_lost),
        );
        family(
            "quayline_queue_expired_total",
            "Messages that expired and were deleted.",
            "counter",
            &by_queue(&|facts| facts.expired),
        );
        family(
            "quayline_queue_poison",
            "Messages that failed too often and cannot move to the backout queue.",
            "gauge",
            &by_queue(&|facts| facts.poison),
        );
        family(
            "quayline_queue_moved_total",
            "Messages that failed too often and moved to the backout queue.",
            "counter",
            &by_queue(&|facts| facts.moved),
        );
        family(
            "quayline_queue_backed_out_total",
            "Rollbacks that gave a message back.",
            "counter",
            &by_queue(&|facts| facts.backed_out),
        );
        text
    }
}

fn lock(save: &Mutex<Option<Save>>) -> MutexGuard<'_, Option<Save>> {
    save.lock().unwrap_or_else(PoisonError::into_inner)
}

fn problem(error: &StoreError) -> v1::Problem {
    let finding = error.finding();
    v1::Problem { code: finding.code.to_string(), message: finding.message, hint: finding.hint }
}

fn save_text(save: Option<&Save>) -> String {
    let Some(Save { name, outcome }) = save else { return v1::text(&v1::Save::None) };
    let save = name.clone();
    v1::text(&match outcome {
        None => v1::Save::Running { save },
        Some(Err(error)) => v1::Save::Failed { save, finding: problem(error) },
        Some(Ok(saved)) => v1::Save::Complete {
            save,
            position: saved.facts.position.0,
            entries: saved.facts.entries,
            bytes: saved.facts.bytes,
            parts_kept: saved.kept,
            parts_changed: saved.changed,
            damaged: saved.damaged.iter().map(problem).collect(),
        },
    })
}

/// Writes the labels of a metric of a file, a queue or the store itself. Names have no characters that need escaping in a label.
fn labels(owner: &Owner) -> String {
    match owner {
        Owner::File(name) => format!("{{file=\"{name}\"}}"),
        Owner::Queue(name) => format!("{{queue=\"{name}\"}}"),
        Owner::Store(name) => format!("{{store=\"{name}\"}}"),
    }
}

impl StorePart {
    /// Answers for a store whose saves `saver` makes.
    #[must_use]
    pub fn new(store: Store, saver: StoreSaver) -> Self {
        StorePart { store, saver, save: Arc::default() }
    }

    fn begin_save(&self, name: &str, packing: Packing) -> (u16, String) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') || !name.bytes().all(allowed) {
            let expected = "the name of a save has 1 to 64 letters, digits and . _ - and does not begin with a period";
            return (400, v1::text(&Status::new(expected)));
        }
        let mut save = lock(&self.save);
        if let Some(Save { name, outcome: None }) = save.as_ref() {
            return (409, v1::text(&Status::new(format!("save {name} is running"))));
        }
        *save = Some(Save { name: name.to_owned(), outcome: None });
        let (saver, state, name) = (Arc::clone(&self.saver), Arc::clone(&self.save), name.to_owned());
        let running = std::thread::Builder::new().name("save".to_owned()).spawn(move || {
            let outcome = saver(&name, packing);
            *lock(&state) = Some(Save { name, outcome: Some(outcome) });
        });
        if let Err(error) = running {
            *save = None;
            return (503, v1::text(&Status::new(format!("no thread for the save: {error}"))));
        }
        (202, save_text(save.as_ref()))
    }

    fn save_state(&self) -> String {
        save_text(lock(&self.save).as_ref())
    }

    /// Returns the figures by file and queue. If the store has no free unit of work, the result is empty.
    fn owners(&self) -> Vec<(Owner, OwnerFacts)> {
        self.store.usage_by_owner().unwrap_or_default()
    }

    fn state(&self) -> v1::StoreState {
        let (engine, usage) = (self.store.facts(), self.store.usage());
        let measured = |sampled: Sampled| v1::Measured { measured: sampled.count, mean_cpu_ns: sampled.mean_ns() };
        let owners = self.owners().into_iter().map(|(owner, facts)| v1::OwnerState {
            name: match owner {
                Owner::File(name) => v1::OwnerName::File(name),
                Owner::Queue(name) => v1::OwnerName::Queue(name),
                Owner::Store(name) => v1::OwnerName::Store(name.to_owned()),
            },
            cpu: measured(facts.cpu),
            locks: v1::Locks {
                waits: facts.lock_waits,
                wait_us: facts.lock_wait_us,
                timeouts: facts.lock_timeouts,
                deadlocks: facts.deadlocks,
            },
            message_waits: facts.message_waits,
            message_wait_us: facts.message_wait_us,
        });
        let group_units = engine.units as f64 / engine.groups.max(1) as f64;
        let open = self.store.open_queues().into_iter().map(|(name, facts)| v1::OpenQueue {
            queue: name,
            depth: facts.depth,
            depth_high: facts.depth_high,
            put: facts.put,
            got: facts.got,
            expired: facts.expired,
            backed_out: facts.backed_out,
            moved: facts.moved,
            poison: facts.poison,
        });
        v1::StoreState {
            position: engine.position.0,
            applied: engine.applied.0,
            log_bytes: engine.log_bytes,
            store_bytes: engine.store_bytes,
            delta_bytes: engine.delta_bytes,
            units_open: self.store.units_open(),
            locks_held: self.store.locks_held(),
            units: v1::Units { committed: usage.committed, rolled_back: usage.rolled_back, changes: usage.changes },
            commits: v1::Commits {
                us: usage.commit_us,
                max_us: usage.commit_max_us,
                groups: engine.groups,
                group_units_mean: (group_units * 100.0).round() / 100.0,
                group_units_max: engine.group_units_max,
                syncs: engine.syncs,
                sync_us: engine.sync_us,
                stalled_us: engine.stalled_us,
                cpu: measured(usage.commits),
            },
            locks: v1::Locks {
                waits: usage.lock_waits,
                wait_us: usage.lock_wait_us,
                timeouts: usage.lock_timeouts,
                deadlocks: usage.deadlocks,
            },
            files: v1::Files { cpu: measured(usage.files) },
            queues: v1::Queues {
                cpu: measured(usage.queues),
                message_waits: usage.message_waits,
                message_wait_us: usage.message_wait_us,
                open: open.collect(),
            },
            owners: owners.collect(),
        }
    }
}
