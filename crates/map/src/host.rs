//! Interface between a running map and its environment, so that the map does no I/O.

use quayline_core::{Sink, Value};

use crate::OwnFunction;

/// The world around a map: clock, ids, envelope values, lookups, functions.
pub trait Host {
    /// Microseconds since 1970-01-01T00:00:00 in the time zone that the map's dates mean.
    fn now(&mut self) -> i64;

    /// Returns sixteen unique bytes.
    fn id(&mut self) -> [u8; 16];

    /// Returns an envelope value by name, for `envelope.sender`, or `None` if it has no value. Called when a statement needs it.
    fn envelope(&mut self, name: &str) -> Option<String>;

    /// Takes an envelope value that the map sets, as `envelope.receiver = …`.
    fn set_envelope(&mut self, name: &str, value: &str);

    /// Looks up one row: passes each field's value to `row` in declaration order. Returns `Ok(false)` if the row does not exist.
    ///
    /// # Errors
    /// The reason why the lookup failed, as a phrase without payload.
    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String>;

    /// Calls a user-defined function. Arguments and result are texts in the form of [`crate::OwnType`]; `None` is a result without a value.
    ///
    /// # Errors
    /// The reason why the call failed, as a phrase without payload.
    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        let _ = (function, arguments);
        Err("no program is connected".to_owned())
    }
}

/// A world with a fixed clock, counted ids, no envelope and no lookups: the same output in every run.
#[derive(Clone, Debug, Default)]
pub struct StillHost {
    /// Value of [`Host::now`].
    pub now: i64,
    /// The next id.
    pub next_id: u128,
}

impl Host for StillHost {
    fn now(&mut self) -> i64 {
        self.now
    }

    fn id(&mut self) -> [u8; 16] {
        self.next_id += 1;
        self.next_id.to_be_bytes()
    }

    fn envelope(&mut self, _: &str) -> Option<String> {
        None
    }

    fn set_envelope(&mut self, _: &str, _: &str) {}

    fn lookup(&mut self, _: &str, _: &[Value<'_>], _: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        Err("no lookup is connected".to_owned())
    }
}

impl<H: Host + ?Sized> Host for &mut H {
    fn now(&mut self) -> i64 {
        (**self).now()
    }
    fn id(&mut self) -> [u8; 16] {
        (**self).id()
    }
    fn envelope(&mut self, name: &str) -> Option<String> {
        (**self).envelope(name)
    }
    fn set_envelope(&mut self, name: &str, value: &str) {
        (**self).set_envelope(name, value);
    }
    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        (**self).lookup(name, keys, row)
    }
    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        (**self).call(function, arguments)
    }
}

/// The sinks of a map's outputs.
pub trait Outputs {
    /// Sink type of all outputs; use an enum for several kinds.
    type Sink: Sink;

    /// Returns the sink of an output, counted from 0 in the order given to [`crate::compile`].
    fn sink(&mut self, output: usize) -> &mut Self::Sink;
}

/// The only output.
#[derive(Debug)]
pub struct One<S>(pub S);

impl<S: Sink> Outputs for One<S> {
    type Sink = S;

    #[inline(always)]
    fn sink(&mut self, _: usize) -> &mut S {
        &mut self.0
    }
}

/// A list with one sink for each output.
impl<S: Sink> Outputs for Vec<S> {
    type Sink = S;

    #[inline(always)]
    fn sink(&mut self, output: usize) -> &mut S {
        &mut self[output]
    }
}

impl<O: Outputs + ?Sized> Outputs for &mut O {
    type Sink = O::Sink;

    #[inline(always)]
    fn sink(&mut self, output: usize) -> &mut O::Sink {
        (**self).sink(output)
    }
}
