//! Options of acknowledgments: which ones, when, and with which numbers.

use crate::control::CountedNumbers;
use crate::envelope::Check;

/// Options that the caller chooses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcknowledgmentOptions {
    /// Reply to X12 functional groups.
    pub functional: Functional,
    /// Condition for TA1 in reply to X12 interchanges. Envelope faults are reported unless `Never`; `Asked` reads ISA14.
    pub interchange: When,
    /// Condition for CONTRL in reply to EDIFACT interchanges. `Asked` reads data element 0031 of UNB; faults are reported unless `Never`.
    pub contrl: When,
    /// Outcomes of errors.
    pub outcomes: OutcomePolicy,
    /// Date and time of the acknowledgment.
    pub stamp: Stamp,
    /// The next control numbers, unless [`super::Acknowledger::with_numbers`] is given others.
    pub numbers: CountedNumbers,
    /// Maximum number of faults reported individually for one transaction. Further ones are counted ([`AcknowledgmentTally::unreported`]) and have the
    /// same effect on the outcome. Default 999, the capacity of CONTRL.
    pub notes_max: usize,
}

impl AcknowledgmentOptions {
    /// Returns the defaults: 999 if the version has it, TA1 if requested, CONTRL always; errors reject; control numbers from 1.
    #[must_use]
    pub fn new(stamp: Stamp) -> Self {
        AcknowledgmentOptions {
            functional: Functional::Implementation,
            interchange: When::Asked,
            contrl: When::Always,
            outcomes: OutcomePolicy::default(),
            stamp,
            numbers: CountedNumbers::default(),
            notes_max: 999,
        }
    }

    /// Returns options by the name used on the command line: `997`, `999` or `auto`, `ta1` (only TA1, always), `contrl` (EDIFACT only).
    #[must_use]
    pub fn by_name(name: &str, stamp: Stamp) -> Option<Self> {
        let base = AcknowledgmentOptions::new(stamp);
        Some(match name.to_ascii_lowercase().as_str() {
            "997" => AcknowledgmentOptions { functional: Functional::Functional, ..base },
            "999" | "auto" => base,
            "ta1" => AcknowledgmentOptions {
                functional: Functional::None,
                interchange: When::Always,
                contrl: When::Never,
                ..base
            },
            "contrl" => AcknowledgmentOptions { functional: Functional::None, interchange: When::Never, ..base },
            _ => return None,
        })
    }
}

/// Reply to X12 functional groups.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Functional {
    /// No reply.
    None,
    /// 997 in the version of the group.
    Functional,
    /// 999, in the version of the group or, for HIPAA's guides (`005010X...`), as 005010X231A1. Groups of versions before 005010, which
    /// do not have it, are answered with 997.
    Implementation,
}

/// Condition for a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum When {
    /// No reply.
    Never,
    /// If the header requests it, or there is a fault.
    Asked,
    /// Each time.
    Always,
}

/// Outcome of errors at each level. Warnings have no effect unless they are reported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OutcomePolicy {
    /// Errors of the interchange's envelope.
    pub interchange: OnError,
    /// Errors of a group's envelope.
    pub group: OnError,
    /// Errors in a transaction.
    pub transaction: OnError,
    /// Handling of warnings.
    pub warnings: Warnings,
}

impl Default for OutcomePolicy {
    fn default() -> Self {
        OutcomePolicy {
            interchange: OnError::Reject,
            group: OnError::Reject,
            transaction: OnError::Reject,
            warnings: Warnings::Untold,
        }
    }
}

/// Outcome of an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnError {
    /// Rejected: `R`, CONTRL 4.
    Reject,
    /// Accepted with errors: `E`. CONTRL has no such code and acknowledges.
    Accept,
}

/// Security failure that rejects a transaction or a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SecurityFailure {
    /// `M`: the message authentication code is wrong.
    Authentication,
    /// `W`: the assurance is not valid.
    Assurance,
    /// `X`: the decrypted content cannot be read.
    Decryption,
}

impl SecurityFailure {
    /// Returns the code of data elements 715 and 717.
    pub(super) fn status(self) -> &'static [u8] {
        match self {
            SecurityFailure::Authentication => b"M",
            SecurityFailure::Assurance => b"W",
            SecurityFailure::Decryption => b"X",
        }
    }

    /// Returns the code of data element 718 (and 618).
    pub(super) fn transaction_code(self) -> Option<&'static str> {
        match self {
            SecurityFailure::Authentication => Some("13"),
            SecurityFailure::Assurance => None,
            SecurityFailure::Decryption => Some("16"),
        }
    }

    /// Returns the code of data element 716.
    pub(super) fn group_code(self) -> Option<&'static str> {
        match self {
            SecurityFailure::Authentication => Some("18"),
            SecurityFailure::Assurance => None,
            SecurityFailure::Decryption => Some("15"),
        }
    }
}

/// Handling of warnings in acknowledgments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Warnings {
    /// Warnings are not reported.
    Untold,
    /// Warnings are reported; a unit without errors is accepted with errors.
    Told,
}

/// Date and time that an acknowledgment carries: the caller's, so that the same input gives the same bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stamp {
    /// CCYYMMDD.
    date: [u8; 8],
    /// HHMM.
    time: [u8; 4],
}

impl Stamp {
    /// Creates a stamp from `CCYYMMDD` and `HHMM`; `None` for an invalid date or time.
    #[must_use]
    pub fn new(date: &str, time: &str) -> Option<Self> {
        let stamp = Stamp { date: date.as_bytes().try_into().ok()?, time: time.as_bytes().try_into().ok()? };
        let good = Check::Date.expected(&stamp.date).is_none() && Check::Time.expected(&stamp.time).is_none();
        good.then_some(stamp)
    }

    /// Creates a stamp from seconds since 1970-01-01T00:00:00Z, in UTC; years after 9999 become 9999.
    #[must_use]
    pub fn from_unix(seconds: u64) -> Self {
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // Years of 365.2425 days from 0000-03-01, so that the leap day is the last of its year.
        let days = days.min(2_932_896) + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let mut stamp = Stamp { date: *b"00000000", time: *b"0000" };
        digits(&mut stamp.date[..4], year);
        digits(&mut stamp.date[4..6], month);
        digits(&mut stamp.date[6..], day);
        digits(&mut stamp.time[..2], second / 3_600);
        digits(&mut stamp.time[2..], second / 60 % 60);
        stamp
    }

    /// Returns the date as CCYYMMDD.
    #[must_use]
    pub fn date(&self) -> &[u8] {
        &self.date
    }

    /// Returns the date as YYMMDD.
    #[must_use]
    pub fn short_date(&self) -> &[u8] {
        &self.date[2..]
    }

    /// Returns the time as HHMM.
    #[must_use]
    pub fn time(&self) -> &[u8] {
        &self.time
    }
}

/// Writes the last digits of a number.
fn digits(to: &mut [u8], mut number: u64) {
    for digit in to.iter_mut().rev() {
        *digit = b"0123456789"[usize::try_from(number % 10).unwrap_or(0)];
        number /= 10;
    }
}

/// Counts of acknowledged units.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AcknowledgmentTally {
    /// Interchanges received, those whose header is unreadable too.
    pub interchanges: u64,
    /// Number of rejected interchanges.
    pub interchanges_rejected: u64,
    /// Groups received.
    pub groups: u64,
    /// Number of rejected groups, because of their envelope or because all their transactions are rejected.
    pub groups_rejected: u64,
    /// Transactions received.
    pub transactions: u64,
    /// Number of transactions accepted with errors.
    pub transactions_with_errors: u64,
    /// Number of transactions rejected for their own faults, without those of a rejected group or interchange.
    pub transactions_rejected: u64,
    /// Number of valid or acceptable transactions that are rejected with their group or interchange.
    pub transactions_rejected_with: u64,
    /// Number of faults beyond [`AcknowledgmentOptions::notes_max`], which no acknowledgment reports individually.
    pub unreported: u64,
    /// Acknowledging interchanges written.
    pub written: u64,
}
