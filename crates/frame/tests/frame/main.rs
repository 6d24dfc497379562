//! Laws and vectors of framing.

#[cfg(test)]
mod check;
#[cfg(test)]
mod columns;
#[cfg(test)]
mod deleted;
#[cfg(test)]
mod detection;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod vectors;
#[cfg(test)]
mod writing;
