//! Laws and vectors of CSV.

#[cfg(test)]
mod documents;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod writing;
