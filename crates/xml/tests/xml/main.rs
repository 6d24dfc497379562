//! Laws and vectors of XML.

#[cfg(test)]
mod documents;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod writing;
