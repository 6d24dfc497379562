//! What a running map asks of the world around it, through one trait, so that it does no I/O itself.

use quayline_core::{Sink, Value};

use crate::OwnFunction;

/// The world around a map: clock, ids, envelope values, lookups, functions.
pub trait Host {
    /// Microseconds since 1970-01-01T00:00:00 in the time zone that the map's dates mean.
    fn now(&mut self) -> i64;

    /// Sixteen bytes that no other call gave.
    fn id(&mut self) -> [u8; 16];

    /// An envelope value by its name, as `envelope.sender`; `None` where it has none. Asked when a statement needs it.
    fn envelope(&mut self, name: &str) -> Option<String>;

    /// Takes an envelope value that the map sets, as `envelope.receiver = …`.
    fn set_envelope(&mut self, name: &str, value: &str);

    /// One row of a lookup: hands each field's value to `row` in the order of the declaration. `Ok(false)`: there is no such row.
    ///
    /// # Errors
    /// Why the lookup cannot be done, in words, without payload.
    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String>;

    /// Calls a function of the user's own. Arguments and result are text, as [`crate::OwnType`] says; `None` is a result without a value.
    ///
    /// # Errors
    /// Why there is no result, in words, without payload.
    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        let _ = (function, arguments);
        Err("no program is connected".to_owned())
    }
}

/// A world with a fixed clock, counted ids, no envelope and no lookups: the same output in every run.
#[derive(Clone, Debug, Default)]
pub struct StillHost {
    /// What [`Host::now`] says.
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
    /// One sink for each output; several kinds stand in an enum.
    type Sink: Sink;

    /// The sink of an output, counted from 0 as given to [`crate::compile`].
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

/// One sink an output.
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
