//! Sizes: `4k` is 4096. The crates that read sizes take it for 4000, which no direct I/O could use.
//!
//! A number (decimal, with `.` and `_`, or `0x`), then a unit, upper or lower case: none or `b` for bytes;
//! `k m g t p e`, `ki mi ..`, `kib mib ..` for powers of 1024; `kb mb ..` for powers of 1000, with a note in the
//! plan. The result must be a whole number of bytes.

/// A text that cannot be read: what is wrong, and what to type instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Wrong {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Wrong { message: message.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Wrong { help: Some(help.into()), ..self }
    }
}

/// A size that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    /// Written with a decimal unit.
    pub(crate) decimal: bool,
}

const HELP: &str = "for example \"4k\" (4096 bytes), \"1MiB\", \"1.5g\", \"100GB\" (decimal) or 4096";

/// Reads a size.
///
/// # Errors
/// When the text is none, or no whole number of bytes below 2^64.
pub(crate) fn parse(text: &str) -> Result<Size, Wrong> {
    let (number, unit) = Decimal::split(text)?;
    let (scale, decimal) = scale(unit).ok_or_else(|| unknown_unit(text, unit))?;
    match number.times(scale) {
        Some(Product::Whole(bytes)) => match u64::try_from(bytes) {
            Ok(bytes) => Ok(Size { bytes, decimal }),
            Err(_) => Err(Wrong::new(format!("\"{text}\" is more than 2^64 bytes"))),
        },
        Some(Product::Broken(bytes)) => {
            let message = format!("\"{text}\" is {bytes} bytes and a bit, must be a whole number");
            Err(Wrong::new(message).help(format!("write {bytes} or {}", bytes + 1)))
        }
        None => Err(Wrong::new(format!("\"{text}\" is more than 2^64 bytes"))),
    }
}

fn unknown_unit(text: &str, unit: &str) -> Wrong {
    match unit {
        "%" => Wrong::new(format!("\"{text}\" is a share, must be a size")).help(HELP),
        _ if unit.ends_with("/s") => Wrong::new(format!("\"{text}\" is a rate, must be a size")).help(HELP),
        _ => Wrong::new(format!("\"{text}\" has the unknown unit `{unit}`")).help(HELP),
    }
}

/// Bytes of a unit, and whether it is decimal.
fn scale(unit: &str) -> Option<(u128, bool)> {
    let unit = unit.to_ascii_lowercase();
    if matches!(unit.as_str(), "" | "b") {
        return Some((1, false));
    }
    let power = "kmgtpe".find(unit.chars().next()?)? as u32 + 1;
    match &unit[1..] {
        "" | "i" | "ib" => Some((1 << (10 * power), false)),
        "b" => Some((1000_u128.pow(power), true)),
        _ => None,
    }
}

/// A decimal number, exactly: `digits` times `10^-places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    places: u32,
}

/// A product, rounded down where it is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Whole(u128),
    Broken(u128),
}

impl Decimal {
    /// Splits a text into its number and the rest, which is the unit.
    ///
    /// # Errors
    /// When there is no number at the front, or one too long to be meant.
    pub(crate) fn split(text: &str) -> Result<(Decimal, &str), Wrong> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(Wrong::new(format!("\"{text}\" is negative")));
        }
        let hex = trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X"));
        let body = hex.unwrap_or(trimmed);
        let is_part = |c: char| match hex {
            Some(_) => c.is_ascii_hexdigit() || c == '_',
            None => c.is_ascii_digit() || c == '_' || c == '.',
        };
        let end = body.find(|c| !is_part(c)).unwrap_or(body.len());
        let (number, unit) = body.split_at(end);
        let no_number = || Wrong::new(format!("\"{text}\" does not start with a number"));
        let plain = without_underscores(number).ok_or_else(no_number)?;
        let (whole, broken) = plain.split_once('.').unwrap_or((&plain, ""));
        let well_formed = !whole.is_empty() && !broken.contains('.') && !plain.ends_with('.');
        let digits = u128::from_str_radix(&format!("{whole}{broken}"), if hex.is_some() { 16 } else { 10 });
        match digits {
            _ if !well_formed => Err(no_number()),
            Ok(digits) if broken.len() <= 30 => {
                Ok((Decimal { digits, places: broken.len() as u32 }, unit.trim_start()))
            }
            _ => Err(Wrong::new(format!("\"{text}\" has too many digits"))),
        }
    }

    /// Times a factor; `None` beyond 128 bits.
    pub(crate) fn times(self, factor: u128) -> Option<Product> {
        let (product, divisor) = (self.digits.checked_mul(factor)?, 10_u128.pow(self.places));
        let quotient = product / divisor;
        let whole = product.is_multiple_of(divisor);
        Some(if whole { Product::Whole(quotient) } else { Product::Broken(quotient) })
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        format!("{}e-{}", self.digits, self.places).parse().expect("digits and an exponent are a number")
    }
}

/// The number without `_`, which must stand between digits.
fn without_underscores(number: &str) -> Option<String> {
    let odd = number.starts_with('_')
        || number.ends_with('_')
        || ["__", "_.", "._"].iter().any(|p| number.contains(p));
    (!odd && !number.is_empty()).then(|| number.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> u64 {
        parse(text).unwrap_or_else(|w| panic!("{text}: {}", w.message)).bytes
    }

    fn fault(text: &str) -> String {
        parse(text).expect_err(text).message
    }

    #[test]
    fn binary_unless_it_ends_in_b_alone() {
        for text in ["4k", "4K", "4ki", "4KiB", "4 k", "0x1000", "4_096", "4096b", "4096", "0x1_000", " 4k "]
        {
            assert_eq!(parse(text), Ok(Size { bytes: 4096, decimal: false }), "{text}");
        }
        for text in ["4kb", "4KB", "4Kb", "0.004mb"] {
            assert_eq!(parse(text), Ok(Size { bytes: 4000, decimal: true }), "{text}");
        }
        assert_eq!(bytes("1.5k"), 1536);
        assert_eq!(bytes("0.5g"), 1 << 29);
        assert_eq!(bytes("16p"), 16 << 50);
        assert_eq!(
            [bytes("8EiB"), bytes("1.5e"), bytes("2EB")],
            [8 << 60, 3 << 59, 2_000_000_000_000_000_000]
        );
        assert_eq!(parse("16EiB").unwrap_err().message, "\"16EiB\" is more than 2^64 bytes");
        assert_eq!(bytes("100GB"), 100_000_000_000);
        assert_eq!(bytes("0x10k"), 16 << 10);
        assert_eq!(bytes("18446744073709551615"), u64::MAX);
    }

    #[test]
    fn what_is_no_size_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", "does not start with a number"),
            ("k", "does not start with a number"),
            ("4q", "unknown unit `q`"),
            ("4kk", "unknown unit `kk`"),
            ("4 k b", "unknown unit `k b`"),
            ("30%", "is a share"),
            ("5MB/s", "is a rate"),
            ("-4k", "negative"),
            ("0.3k", "is 307 bytes and a bit"),
            ("1.2.3k", "does not start with a number"),
            (".5k", "does not start with a number"),
            ("5.k", "does not start with a number"),
            ("_4k", "does not start with a number"),
            ("4_k", "does not start with a number"),
            ("4__0", "does not start with a number"),
            ("18446744073709551616", "more than 2^64"),
            ("16384p", "more than 2^64"),
            ("340282366920938463463374607431768211455p", "more than 2^64"),
            ("999999999999999999999999999999999999999999", "too many digits"),
            ("0.00000000000000000000000000000000001", "too many digits"),
            ("0x", "does not start with a number"),
        ] {
            assert!(fault(text).contains(reason), "{text}: {}", fault(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        #[test]
        fn shown_sizes_read_back(bytes in any::<u64>(), shift in 0..64u32) {
            let size = bytes >> shift << (shift % 50);
            prop_assert_eq!(parse(&iodyno_record::units::size(size)).map(|s| s.bytes), Ok(size));
        }

        #[test]
        fn decimals_are_exact_or_refused(digits in 0..10_u64.pow(12), places in 0..6_u32, power in 0..6_u32) {
            let text = Decimal { digits: u128::from(digits), places };
            let text = format!("{}.{:0>width$}", text.digits / 10_u128.pow(places), text.digits % 10_u128.pow(places), width = places as usize);
            let text = format!("{}{}", text.trim_end_matches('.').trim_end_matches(if places == 0 { ".0" } else { "" }), ["", "k", "m", "g", "t", "p"][power as usize]);
            let exact = u128::from(digits) << (10 * power);
            let divisor = 10_u128.pow(places);
            match parse(&text) {
                Ok(size) => prop_assert_eq!(u128::from(size.bytes) * divisor, exact),
                Err(_) => prop_assert!(exact % divisor != 0 || exact / divisor > u128::from(u64::MAX)),
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn no_likely_text_panics(text in "[-0-9xX._ kKmMgGtTpPiIbB%/s]{0,40}") {
            let _ = parse(&text);
        }
    }
}
