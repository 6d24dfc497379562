//! Dialect settings by name, as users write them: `sync=8`, `float=ieee-little`.

use super::{BinarySizes, ByteOrder, Dialect, FloatFormat, OverpunchVariant, SyncRule};

/// One setting of a [`Dialect`]: its name, its values and its meaning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DialectSetting {
    /// Name as users write it.
    pub name: &'static str,
    /// Values as users write them; the first is the IBM preset's.
    pub values: &'static [&'static str],
    /// One line of meaning.
    pub meaning: &'static str,
}

/// Error of a dialect setting.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectSettingError {
    /// The preset does not exist.
    #[error("no dialect is named `{found}`; there are ibm, gnucobol and microfocus")]
    Preset {
        /// Text found.
        found: String,
    },
    /// The setting does not exist.
    #[error("no dialect setting is named `{found}`")]
    Name {
        /// Text found.
        found: String,
    },
    /// The value is not one of the setting's.
    #[error("`{found}` is not a value of the dialect setting {setting}, which takes {}", .values.join(", "))]
    Value {
        /// The setting.
        setting: &'static str,
        /// Text found.
        found: String,
        /// Allowed values.
        values: &'static [&'static str],
    },
}

/// Signs that a picture may have in place of `$`.
const CURRENCIES: [&str; 4] = ["$", "£", "€", "¥"];

const YES_NO: &[&str] = &["yes", "no"];
/// Values of the settings `binary-sizes` and `native-sizes`, in their order.
const SIZES: [BinarySizes; 3] = [BinarySizes::TwoFourEight, BinarySizes::OneTwoFourEight, BinarySizes::OneToEight];

impl Dialect {
    /// Every setting, in the order of the fields of [`Dialect`].
    pub const SETTINGS: [DialectSetting; 14] = [
        DialectSetting {
            name: "binary-sizes",
            values: &["2-4-8", "1-2-4-8", "1-to-8"],
            meaning: "bytes of COMP, COMP-4 and BINARY by digits",
        },
        DialectSetting {
            name: "native-sizes",
            values: &["2-4-8", "1-2-4-8", "1-to-8"],
            meaning: "bytes of COMP-5 by digits",
        },
        DialectSetting {
            name: "binary-order",
            values: &["big", "little"],
            meaning: "byte order of COMP, COMP-4 and BINARY",
        },
        DialectSetting {
            name: "native-order",
            values: &["big", "little"],
            meaning: "byte order of COMP-5, INDEX and POINTER",
        },
        DialectSetting {
            name: "truncate",
            values: YES_NO,
            meaning: "whether COMP holds only the digits of its picture when written, TRUNC(STD)",
        },
        DialectSetting { name: "binary-digits", values: &["18", "38"], meaning: "most digits of a binary item" },
        DialectSetting {
            name: "sync",
            values: &["4", "8", "no"],
            meaning: "alignment of an 8-byte binary with SYNCHRONIZED; no: the word is a comment",
        },
        DialectSetting { name: "pointer", values: &["4", "8"], meaning: "bytes of a POINTER" },
        DialectSetting { name: "index", values: &["4", "8"], meaning: "bytes of an INDEX" },
        DialectSetting {
            name: "float",
            values: &["hexadecimal", "ieee-big", "ieee-little"],
            meaning: "format of COMP-1 and COMP-2",
        },
        DialectSetting {
            name: "overpunch",
            values: &["ebcdic", "ascii"],
            meaning: "sign overpunch of zoned numbers in ASCII data",
        },
        DialectSetting {
            name: "odo-slide",
            values: YES_NO,
            meaning: "whether fields after an OCCURS DEPENDING ON move with its count",
        },
        DialectSetting {
            name: "decimal",
            values: &["point", "comma"],
            meaning: "decimal mark of pictures and values; comma: DECIMAL-POINT IS COMMA",
        },
        DialectSetting { name: "currency", values: &CURRENCIES, meaning: "CURRENCY SIGN of pictures" },
    ];

    /// Returns the preset with this name: `ibm`, `gnucobol` or `microfocus`, in any case.
    ///
    /// # Errors
    /// [`DialectSettingError::Preset`] for another name.
    pub fn preset(name: &str) -> Result<Dialect, DialectSettingError> {
        match name.to_ascii_lowercase().as_str() {
            "ibm" => Ok(Dialect::IBM),
            "gnucobol" => Ok(Dialect::GNUCOBOL),
            "microfocus" => Ok(Dialect::MICRO_FOCUS),
            _ => Err(DialectSettingError::Preset { found: name.to_owned() }),
        }
    }

    /// Changes one setting; names and values as in [`Dialect::SETTINGS`].
    ///
    /// # Errors
    /// [`DialectSettingError`] for an unknown name or value; the dialect is then unchanged.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DialectSettingError> {
        let setting = Self::SETTINGS
            .into_iter()
            .find(|setting| setting.name == name)
            .ok_or_else(|| DialectSettingError::Name { found: name.to_owned() })?;
        let wrong =
            || DialectSettingError::Value { setting: setting.name, found: value.to_owned(), values: setting.values };
        let at = setting.values.iter().position(|known| *known == value).ok_or_else(wrong)?;
        let order = if at == 0 { ByteOrder::Big } else { ByteOrder::Little };
        let bytes = if at == 0 { 4 } else { 8 };
        match setting.name {
            "binary-sizes" => self.binary_sizes = SIZES[at],
            "native-sizes" => self.native_sizes = SIZES[at],
            "binary-order" => self.binary_order = order,
            "native-order" => self.native_order = order,
            "truncate" => self.binary_truncate = at == 0,
            "binary-digits" => self.binary_digits_max = if at == 0 { 18 } else { 38 },
            "sync" => self.sync = [SyncRule::EightBytesAtFour, SyncRule::EightBytesAtEight, SyncRule::Ignored][at],
            "pointer" => self.pointer_bytes = bytes,
            "index" => self.index_bytes = bytes,
            "float" => {
                self.float_format = [FloatFormat::Hexadecimal, FloatFormat::IeeeBig, FloatFormat::IeeeLittle][at];
            }
            "overpunch" => self.overpunch = [OverpunchVariant::Ebcdic, OverpunchVariant::Ascii][at],
            "odo-slide" => self.odo_slide = at == 0,
            "decimal" => self.decimal_comma = at == 1,
            _ => self.currency = value.chars().next().unwrap_or('$'),
        }
        Ok(())
    }

    /// Returns the value of every setting, as users write it, in the order of [`Dialect::SETTINGS`].
    #[must_use]
    pub fn settings(&self) -> [(&'static str, &'static str); 14] {
        let order = |order| if order == ByteOrder::Big { 0 } else { 1 };
        let bytes = |bytes| if bytes == 4 { 0 } else { 1 };
        let yes = |yes: bool| usize::from(!yes);
        let sizes = |sizes| SIZES.iter().position(|s| *s == sizes).unwrap_or(0);
        let at = [
            sizes(self.binary_sizes),
            sizes(self.native_sizes),
            order(self.binary_order),
            order(self.native_order),
            yes(self.binary_truncate),
            usize::from(self.binary_digits_max > 18),
            match self.sync {
                SyncRule::EightBytesAtFour => 0,
                SyncRule::EightBytesAtEight => 1,
                SyncRule::Ignored => 2,
            },
            bytes(self.pointer_bytes),
            bytes(self.index_bytes),
            match self.float_format {
                FloatFormat::Hexadecimal => 0,
                FloatFormat::IeeeBig => 1,
                FloatFormat::IeeeLittle => 2,
            },
            match self.overpunch {
                OverpunchVariant::Ebcdic => 0,
                OverpunchVariant::Ascii => 1,
            },
            yes(self.odo_slide),
            usize::from(self.decimal_comma),
            CURRENCIES.iter().position(|sign| sign.starts_with(self.currency)).unwrap_or(0),
        ];
        core::array::from_fn(|i| (Self::SETTINGS[i].name, Self::SETTINGS[i].values[at[i]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_setting_reads_back() {
        for setting in Dialect::SETTINGS {
            for value in setting.values {
                let mut dialect = Dialect::MICRO_FOCUS;
                dialect.set(setting.name, value).unwrap();
                assert!(dialect.settings().contains(&(setting.name, value)), "{} = {value}", setting.name);
            }
        }
    }

    #[test]
    fn settings_rebuild_every_preset() {
        for preset in ["ibm", "gnucobol", "microfocus"] {
            let preset = Dialect::preset(preset).unwrap();
            let mut rebuilt = Dialect::IBM;
            for (name, value) in preset.settings() {
                rebuilt.set(name, value).unwrap();
            }
            assert_eq!(rebuilt, preset);
        }
    }

    #[test]
    fn an_unknown_name_or_value_says_what_there_is() {
        let mut dialect = Dialect::IBM;
        assert_eq!(dialect.set("synk", "8").unwrap_err().to_string(), "no dialect setting is named `synk`");
        assert_eq!(
            dialect.set("sync", "16").unwrap_err().to_string(),
            "`16` is not a value of the dialect setting sync, which takes 4, 8, no"
        );
        assert_eq!(dialect, Dialect::IBM);
    }
}
