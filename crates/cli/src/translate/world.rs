//! Environment of a map in a run: time, ids, envelope values, tables.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quayline_batch::FunctionProgram;
use quayline_map::MapPlan;
use quayline_pipeline::{CsvTable, FunctionSource, UnitWorld, World};
use quayline_project::LookupTable;

use crate::args::TranslateArgs;
use crate::exit::{Stop, argument, once_each};

/// Encodes time and id seed for checkpoints, so that a resumed run uses those of its beginning.
pub(super) fn kept(world: &World) -> Vec<u8> {
    [world.now.to_le_bytes(), world.seed.to_le_bytes()].concat()
}

/// Returns the world of input `number`, from 0, whose ids differ from those of the inputs before it; `None` for the first, which has that of the run.
pub(super) fn of_input(world: &World, number: usize) -> Option<UnitWorld> {
    // An odd factor, so that the seeds of inputs differ in many bits.
    let seed = world.seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (number > 0).then(|| UnitWorld { now: world.now, seed, envelope: Vec::new() })
}

/// Decodes time and id seed of a checkpoint.
fn of_kept(bytes: &[u8]) -> Option<(i64, u64)> {
    let (now, seed) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_le_bytes(*now), u64::from_le_bytes(seed.try_into().ok()?)))
}

/// Creates the world of a run; `kept` is the saved state of a checkpoint, if the run resumes.
pub(super) fn read(args: &TranslateArgs, plan: &MapPlan, kept: Option<&[u8]>) -> Result<World, Stop> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (now, seed) = match &args.now {
        Some(text) => {
            let now = micros(text).ok_or_else(|| {
                argument(format!("`{text}` is not a date and time")).hint("write it so: 2026-01-31T12:00:00")
            })?;
            let began = kept.and_then(of_kept).map_or(now, |(began, _)| began);
            if began != now {
                let finding = argument("the stopped run started with another time");
                return Err(finding.hint("leave out --now: a resumed run uses its original start time").into());
            }
            // A fixed clock is for runs that are to give the same again.
            (now, now.unsigned_abs())
        }
        None if kept.is_some_and(|kept| of_kept(kept).is_some()) => kept.and_then(of_kept).unwrap_or_default(),
        None => {
            let now = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
            (now, u64::from(std::process::id()) ^ u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or(0))
        }
    };
    let mut envelope = Vec::new();
    for text in &args.envelope {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            argument(format!("`--envelope {text}` has no `=`")).hint("write it as --envelope group.sender=ACME")
        })?;
        envelope.push((name.to_owned(), value.to_owned()));
    }
    for (who, name) in [(&args.sender, "sender"), (&args.receiver, "receiver")] {
        let Some(who) = who else { continue };
        let (qualifier, id) = who.split_once(':').map_or((None, who.as_str()), |(of, id)| (Some(of), id));
        envelope.push((name.to_owned(), id.to_owned()));
        envelope.extend(qualifier.map(|of| (format!("{name}_qualifier"), of.to_owned())));
    }
    envelope.extend(args.control_number.iter().map(|number| ("control_number".to_owned(), number.clone())));
    let mut tables = Vec::new();
    for text in &args.lookup {
        let (name, file) =
            text.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty()).ok_or_else(|| {
                argument(format!("`--lookup {text}` has no `=`")).hint("write it as --lookup customers=customers.csv")
            })?;
        tables.push((name.to_owned(), PathBuf::from(file)));
    }
    once_each("--lookup", tables.iter().map(|(name, _)| name.as_str()))?;
    let lookups = CsvTable::all(LookupTable::of_map(
        plan,
        &tables,
        "`--lookup` (in a test of a map, in `[lookup]` of case.toml)",
    )?);
    let mut world = World::new(now, seed, envelope, lookups);
    world.functions =
        functions(args, plan)?.into_iter().map(|program| Box::new(program) as Box<dyn FunctionSource>).collect();
    Ok(world)
}

/// Returns the programs of the map's functions.
fn functions(args: &TranslateArgs, plan: &MapPlan) -> Result<Vec<FunctionProgram>, Stop> {
    let mut programs = Vec::new();
    for text in &args.function {
        let (name, command) =
            text.split_once('=').filter(|(name, command)| !name.is_empty() && !command.is_empty()).ok_or_else(
                || argument(format!("`--function {text}` has no `=`")).hint("write it as --function rate=./rate.py"),
            )?;
        programs.push(FunctionProgram {
            name: name.to_owned(),
            command: command.to_owned(),
            folder: args.function_folder.clone(),
            time: Duration::from_secs(args.function_timeout),
        });
    }
    FunctionProgram::of_map(plan.own_functions(), programs)
        .map_err(|(what, remedy)| argument(format!("--function: {what}")).hint(remedy).into())
}

/// Parses `CCYY-MM-DD`, optionally followed by `THH:MM:SS`, to microseconds since 1970.
pub(super) fn micros(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, sign: char, widths: &[usize]| -> Option<Vec<i64>> {
        let parts: Vec<&str> = text.split(sign).collect();
        let fits = parts.len() == widths.len() && parts.iter().zip(widths).all(|(part, width)| part.len() == *width);
        let digits = fits && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        digits.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
    };
    let (date, time) = (numbers(date, '-', &[4, 2, 2])?, numbers(time.trim_end_matches('Z'), ':', &[2, 2, 2])?);
    let (year, month, day) = (date[0], date[1], date[2]);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=length).contains(&day) || time[0] > 23 || time[1] > 59 || time[2] > 59 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        assert_eq!(micros("1970-01-01"), Some(0));
        assert_eq!(micros("2000-03-01T00:00:01"), Some((11_017 * 86_400 + 1) * 1_000_000));
        assert_eq!(micros("2026-01-31T12:30:00Z"), Some((20_484 * 86_400 + 45_000) * 1_000_000));
        for wrong in ["2026-02-29", "2026-13-01", "2026-1-1", "now", "2026-01-01T24:00:00", "2026-01-01T1:00:00"] {
            assert_eq!(micros(wrong), None, "{wrong}");
        }
    }
}
