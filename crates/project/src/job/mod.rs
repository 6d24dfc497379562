//! Job XML (JSL of Jakarta Batch 2.1): read, checked, substituted, and built into a [`Job`].
//!
//! ```text
//! jobs/NAME.xml ──read──▶ tree ──check──▶ JobFile (text, tree, digest)
//!                                            │ resolve: job parameters, properties in scope, system properties
//!                                            ▼
//!                                    Job: steps, flows, splits, decisions, transitions
//!                                            │ Step::of_partition: the properties of one partition
//!                                            ▼
//!                                          Step
//! ```
//!
//! - A tree keeps the text as the user wrote it; every start resolves it again, because a restart may have other parameters.
//! - [`JobFile::check`] reports everything at once: the order and the attributes of elements as the schema has them, targets, loops, elements
//!   that nothing reaches, parameters without a value, artifacts that nobody provides.
//! - `#{partitionPlan['x']}` stays as it is until a partition has its properties.

mod build;
mod check;
pub mod events;
mod grammar;
mod model;
mod plan;
mod read;
mod settings;
mod substitute;
mod text;

pub use check::{Artifacts, PropertyFault};
pub use events::{EventSettings, TopicFilter};
pub use model::{
    ArtifactRef, Chunk, Decision, Element, ExceptionFilter, Flow, Job, Partition, PartitionSource, Split, Step,
    StepBody, Transition, TransitionAction, matches_pattern,
};
pub use plan::{Delivery, plan_text};
pub use read::JobFile;
pub use settings::{JobSettings, TakeOver};
pub use substitute::{Parameters, Unresolved};
