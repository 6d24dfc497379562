//! Settings of partners, and which of several wins.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use quayline_core::Named as _;
use quayline_edi::{Standard, ValidationLevel};

/// Settings. `None` leaves the decision to a less specific layer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// Acceptance of test and production interchanges. Default: production.
    pub usage: Option<Usage>,
    /// Level of validation. Default: rules.
    pub validate: Option<ValidationLevel>,
    /// Lowest severity of findings that rejects a document. Default: errors.
    pub reject_on: Option<LowestRefused>,
    /// Treatment of an interchange whose control number occurred before. Default: reject.
    pub duplicates: Option<DuplicatePolicy>,
    /// Days after which an interchange with the same number is not a duplicate. Default: it always is.
    pub duplicate_days: Option<u64>,
    /// Treatment of missing control numbers. Default: warn.
    pub gaps: Option<GapPolicy>,
    /// Acknowledgments that we send. Default: 997 or CONTRL, depending on the standard; TA1 if the interchange requests it.
    pub acknowledge: Option<Vec<AckKind>>,
    /// Application advices that we send for documents that a map rejects. Default: none.
    pub advise: Option<Vec<AdviceKind>>,
    /// Destination of our acknowledgments. Default: the destination of other output to the partner.
    pub acknowledge_to: Option<super::Delivery>,
    /// Acknowledgments that we expect for sent documents. Only those of the document's standard apply. Default: none.
    pub expect: Option<Vec<AckKind>>,
    /// Time until an expected acknowledgment is overdue. Default: 24 hours.
    pub due: Option<Period>,
    /// Guides to check by.
    pub guides: Option<Vec<PathBuf>>,
    /// Bytes that the store keeps. Default: all.
    pub keep: Option<KeepPolicy>,
    /// Days until a purge may remove an entry. Default: 2,555, seven years.
    pub keep_days: Option<u64>,
    /// Policy for received interchanges that the store keeps unchanged. Default: those with an error or an undelivered document.
    pub keep_interchanges: Option<WholePolicy>,
    /// Days until a purge may remove the bytes of a received interchange. Default: as long as its entry.
    pub keep_interchanges_days: Option<u64>,
    /// Time at which outgoing documents are put into an interchange. Default: immediately.
    pub envelope: Option<EnvelopePolicy>,
    /// Conditions that close a delayed envelope.
    pub close: Option<ClosePolicy>,
    /// Destination of interchanges to the partner.
    pub send_to: Option<super::Delivery>,
    /// Delimiters of X12 that we write: element, component, repetition and segment terminator.
    pub delimiters_x12: Option<String>,
    /// Delimiters of EDIFACT that we write: element, component, repetition or a space, segment terminator and release character.
    pub delimiters_edifact: Option<String>,
    /// ISA12 of interchanges that we write.
    pub version_x12: Option<String>,
    /// Syntax identifier and version of UNB that we write, such as `UNOC:3`.
    pub version_edifact: Option<String>,
    /// Line break after each segment that we write. Default: no.
    pub line_breaks: Option<bool>,
    /// Numbers of interchanges. Default: from 1.
    pub interchange_numbers: Option<NumberRange>,
    /// Numbers of groups. Default: from 1.
    pub group_numbers: Option<NumberRange>,
    /// Numbers of transactions. Default: from 1 in each group.
    pub transaction_numbers: Option<NumberRange>,
    /// Header fields of interchanges that we write: `interchange.acknowledgment_requested`, `group.agency`.
    pub fields: Option<Vec<(String, String)>>,
}

/// Settings that leave every decision to others: most partners and rules have them, so they are stored once.
static NONE: LazyLock<Arc<Settings>> = LazyLock::new(Arc::default);

impl Settings {
    /// Returns shared settings for a partner or rule. All empty settings share one allocation.
    #[must_use]
    pub fn shared(self) -> Arc<Settings> {
        if self == Settings::default() { Arc::clone(&NONE) } else { Arc::new(self) }
    }

    /// Returns true if settings come from [`Settings::shared`] and are empty.
    #[must_use]
    pub fn are_none(settings: &Arc<Settings>) -> bool {
        Arc::ptr_eq(settings, &NONE)
    }

    /// Merges settings: these take precedence over those of `less`.
    #[must_use]
    pub fn over(&self, less: &Settings) -> Settings {
        macro_rules! pick {
            ($($field:ident),* $(,)?) => {
                Settings { $($field: self.$field.clone().or_else(|| less.$field.clone())),* }
            };
        }
        pick!(
            usage,
            validate,
            reject_on,
            duplicates,
            duplicate_days,
            gaps,
            acknowledge,
            advise,
            acknowledge_to,
            expect,
            due,
            guides,
            keep,
            keep_days,
            keep_interchanges,
            keep_interchanges_days,
            envelope,
            close,
            send_to,
            delimiters_x12,
            delimiters_edifact,
            version_x12,
            version_edifact,
            line_breaks,
            interchange_numbers,
            group_numbers,
            transaction_numbers,
            fields,
        )
    }

    /// Returns the delimiters for a standard.
    #[must_use]
    pub fn delimiters(&self, standard: Standard) -> Option<&str> {
        match standard {
            Standard::X12 => self.delimiters_x12.as_deref(),
            Standard::Edifact => self.delimiters_edifact.as_deref(),
        }
    }

    /// Returns the version of interchanges for a standard.
    #[must_use]
    pub fn version(&self, standard: Standard) -> Option<&str> {
        match standard {
            Standard::X12 => self.version_x12.as_deref(),
            Standard::Edifact => self.version_edifact.as_deref(),
        }
    }

    /// Returns each setting that is present: its key and its value as text.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        macro_rules! show {
            ($($key:literal $field:ident),* $(,)?) => {
                $(if let Some(value) = &self.$field { all.push(($key, value.to_text())); })*
            };
        }
        show!(
            "usage" usage, "validate" validate, "reject-on" reject_on, "duplicates" duplicates, "duplicate-days" duplicate_days, "gaps" gaps,
            "acknowledge" acknowledge, "advise" advise, "acknowledge-to" acknowledge_to, "expect" expect, "due" due, "guides" guides,
            "keep" keep, "keep-days" keep_days, "keep-interchanges" keep_interchanges,
            "keep-interchanges-days" keep_interchanges_days, "envelope" envelope, "close" close, "send-to" send_to,
            "delimiters.x12" delimiters_x12, "delimiters.edifact" delimiters_edifact, "version.x12" version_x12,
            "version.edifact" version_edifact, "line-breaks" line_breaks,
            "interchange-numbers" interchange_numbers, "group-numbers" group_numbers,
            "transaction-numbers" transaction_numbers, "fields" fields,
        );
        all
    }
}

/// A setting's value as people write it.
trait ToText {
    fn to_text(&self) -> String;
}

macro_rules! shown {
    ($($kind:ty),* $(,)?) => {
        $(impl ToText for $kind {
            fn to_text(&self) -> String {
                self.to_string()
            }
        })*
    };
}

shown!(
    u64,
    bool,
    String,
    Usage,
    LowestRefused,
    DuplicatePolicy,
    GapPolicy,
    AckKind,
    KeepPolicy,
    WholePolicy,
    EnvelopePolicy,
    ClosePolicy,
    NumberRange,
    Period,
    super::Delivery,
);

impl ToText for Vec<AckKind> {
    fn to_text(&self) -> String {
        self.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl ToText for Vec<AdviceKind> {
    fn to_text(&self) -> String {
        self.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl ToText for Vec<PathBuf> {
    fn to_text(&self) -> String {
        self.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

impl ToText for Vec<(String, String)> {
    fn to_text(&self) -> String {
        self.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    }
}

impl ToText for ValidationLevel {
    fn to_text(&self) -> String {
        self.name().to_owned()
    }
}

/// A closed list of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum $name { $($(#[$inner])* $variant),* }

        impl $name {
            /// Every word.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Parses a word.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some($name::$variant),)* _ => None }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self { $($name::$variant => $word),* })
            }
        }
    };
}

words! {
    /// Test or production.
    Usage {
        /// Production interchanges only.
        Production = "production",
        /// Test interchanges only.
        Test = "test",
        /// Both test and production interchanges.
        Both = "both",
    }
}

words! {
    /// Lowest severity of findings that rejects a document.
    LowestRefused {
        /// Errors.
        Error = "error",
        /// Warnings, and errors.
        Warning = "warning",
        /// No rejection: documents are accepted with their findings.
        Nothing = "nothing",
    }
}

words! {
    /// Treatment of an interchange whose control number occurred before.
    DuplicatePolicy {
        /// Reject the interchange.
        Reject = "reject",
        /// Process the interchange, with a warning.
        Warn = "warn",
        /// Process the interchange.
        Accept = "accept",
    }
}

words! {
    /// Treatment of missing interchange control numbers.
    GapPolicy {
        /// Reject the interchange until the missing ones have arrived.
        Reject = "reject",
        /// Warn.
        Warn = "warn",
        /// Ignore the gap.
        Ignore = "ignore",
    }
}

words! {
    /// An acknowledgment.
    AckKind {
        /// TA1, for every X12 interchange.
        Ta1 = "ta1",
        /// 997.
        Functional = "997",
        /// 999.
        Implementation = "999",
        /// CONTRL.
        Contrl = "contrl",
    }
}

words! {
    /// An application advice.
    AdviceKind {
        /// 824.
        Application = "824",
        /// APERAK.
        Aperak = "aperak",
    }
}

words! {
    /// Bytes that the store keeps.
    KeepPolicy {
        /// Bytes of all documents.
        All = "all",
        /// Bytes of documents that were rejected or that matched no rule.
        Rejected = "rejected",
    }
}

words! {
    /// Received interchanges that the store keeps in full.
    WholePolicy {
        /// All interchanges.
        All = "all",
        /// Interchanges with an error or an undelivered document.
        Rejected = "rejected",
        /// No interchange.
        None = "none",
    }
}

words! {
    /// Time at which outgoing documents are put into an interchange.
    EnvelopePolicy {
        /// Immediately, with one interchange for each document.
        Immediate = "immediate",
        /// Later, many documents in one interchange.
        Delayed = "delayed",
    }
}

impl AckKind {
    /// Returns the standard that defines the acknowledgment.
    #[must_use]
    pub fn standard(self) -> Standard {
        match self {
            AckKind::Ta1 | AckKind::Functional | AckKind::Implementation => Standard::X12,
            AckKind::Contrl => Standard::Edifact,
        }
    }
}

/// A length of time in the unit in which a user wrote it: `90s`, `15m`, `24h`, `7d`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Period {
    /// Seconds, from 1 to 366 days.
    pub seconds: u64,
    unit: (char, u64),
}

impl Period {
    /// Every unit, with its seconds.
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

    /// Parses the text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let unit = Period::UNITS.into_iter().find(|(letter, _)| text.ends_with(*letter))?;
        let seconds = text.strip_suffix(unit.0)?.parse::<u64>().ok()?.checked_mul(unit.1)?;
        (1..=366 * 86_400).contains(&seconds).then_some(Period { seconds, unit })
    }
}

impl core::fmt::Display for Period {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}{}", self.seconds / self.unit.1, self.unit.0)
    }
}

/// Conditions that close a delayed envelope; the first one reached applies.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClosePolicy {
    /// Documents.
    pub count: Option<u64>,
    /// Bytes of the documents.
    pub bytes: Option<u64>,
    /// Time since the first document came.
    pub age: Option<Period>,
    /// Minutes after midnight UTC, each day.
    pub at_minutes: Vec<u64>,
}

impl core::fmt::Display for ClosePolicy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.count.map(|count| format!("{count} documents")));
        parts.extend(self.bytes.map(|bytes| format!("{bytes} bytes")));
        parts.extend(self.age.map(|age| age.to_string()));
        parts.extend(self.at_minutes.iter().map(|at| format!("{:02}:{:02} UTC", at / 60, at % 60)));
        f.write_str(&if parts.is_empty() { "by command".to_owned() } else { parts.join(" or ") })
    }
}

/// Control numbers that we give.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NumberRange {
    /// The first number, which also follows the last.
    pub first: u64,
    /// The last number, at most 999,999,999.
    pub last: u64,
}

impl NumberRange {
    /// 1 to 999,999,999.
    pub const ALL: NumberRange = NumberRange { first: 1, last: 999_999_999 };
}

impl core::fmt::Display for NumberRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}
