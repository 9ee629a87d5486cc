//! Numbers with units other than sizes: times, rates, counts.

use std::time::Duration;

use crate::size::{self, Decimal, Wrong};

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A count or I/O per second: `825k`.
    Plain,
    /// ns: `80us`.
    Time,
    /// Bytes: `10GiB`.
    Bytes,
    /// Bytes per second: `7 GB/s`.
    BytesPerSecond,
}

impl Unit {
    /// How one is written, for advice.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Unit::Plain => "100k",
            Unit::Time => "1ms",
            Unit::Bytes => "10GiB",
            Unit::BytesPerSecond => "2 GB/s",
        }
    }

    /// What it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Unit::Plain => "a number",
            Unit::Time => "a time",
            Unit::Bytes => "a size",
            Unit::BytesPerSecond => "a bandwidth",
        }
    }

    /// Reads a number of this unit, in its base unit.
    ///
    /// # Errors
    /// When the text is none.
    pub(crate) fn parse(self, text: &str) -> Result<f64, Wrong> {
        match self {
            Unit::Plain => count(text),
            Unit::Time => duration_ns(text).map(|ns| ns as f64),
            Unit::Bytes => size::parse(text).map(|size| size.bytes as f64),
            Unit::BytesPerSecond => bandwidth(text),
        }
    }
}

/// Reads a number of any unit.
///
/// # Errors
/// When the text is none.
pub(crate) fn any(text: &str) -> Result<(f64, Unit), Wrong> {
    let units = [Unit::BytesPerSecond, Unit::Plain, Unit::Time, Unit::Bytes];
    let read = units.into_iter().find_map(|unit| Some((unit.parse(text).ok()?, unit)));
    read.ok_or_else(|| {
        let wrong = Wrong::new(format!("\"{text}\" is no number with a unit"));
        wrong.help("for example 825000, \"825k\", \"7 GB/s\" or \"80us\"")
    })
}

/// Reads a time, ns.
///
/// # Errors
/// When it has no unit, or is longer than 584 years.
pub(crate) fn duration_ns(text: &str) -> Result<u64, Wrong> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(bare_duration(text));
    }
    let duration: Duration = humantime::parse_duration(text).map_err(|e| {
        let wrong = Wrong::new(format!("\"{text}\" is no time: {e}"));
        wrong.help("for example \"10us\", \"500ms\", \"30s\" or \"1m30s\"")
    })?;
    u64::try_from(duration.as_nanos()).map_err(|_| Wrong::new(format!("\"{text}\" is longer than 584 years")))
}

/// A time without a unit.
pub(crate) fn bare_duration(number: &str) -> Wrong {
    let wrong = Wrong::new(format!("{number} is a time without a unit"));
    wrong.help(format!("write \"{number}s\" for seconds, \"{number}ms\" for milliseconds"))
}

/// Reads a count with `k`, `M`, `G` for powers of 1000, and perhaps `iops` behind it.
///
/// # Errors
/// When it is none.
pub(crate) fn count(text: &str) -> Result<f64, Wrong> {
    let (number, unit) = Decimal::split(text)?;
    let scale = match unit.strip_suffix("iops").or(unit.strip_suffix("IOPS")).unwrap_or(unit).trim() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        other => {
            let wrong = Wrong::new(format!("\"{text}\" has the unknown unit `{other}`"));
            return Err(wrong.help("a count is written like 100000, 100k or 1.5M"));
        }
    };
    Ok(number.to_f64() * scale)
}

/// Reads bytes per second: decimal `MB/s`, binary `MiB/s`.
///
/// # Errors
/// When it is none; a bare number is refused, since nobody knows of what.
pub(crate) fn bandwidth(text: &str) -> Result<f64, Wrong> {
    let no_bandwidth = || {
        let wrong = Wrong::new(format!("\"{text}\" is no bandwidth"));
        wrong.help("for example \"500 MB/s\", \"2 GB/s\" or \"1GiB/s\"")
    };
    let (number, unit) = Decimal::split(text).map_err(|_| no_bandwidth())?;
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("/s").ok_or_else(no_bandwidth)?;
    let prefix = unit.strip_suffix('b').ok_or_else(no_bandwidth)?;
    let (letter, step) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1024.0_f64),
        None => (prefix, 1000.0),
    };
    let power = match (letter, step == 1000.0) {
        ("", true) => 0,
        ("k", _) => 1,
        ("m", _) => 2,
        ("g", _) => 3,
        ("t", _) => 4,
        _ => return Err(no_bandwidth()),
    };
    Ok(number.to_f64() * step.powi(power))
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Io,
    Byte,
}

/// Reads `1000 iops` or `50 MB/s`.
///
/// # Errors
/// When it is neither.
pub(crate) fn rate(text: &str) -> Result<(f64, Counted), Wrong> {
    if text.trim_end().to_ascii_lowercase().ends_with("iops") {
        return count(text).map(|rate| (rate, Counted::Io));
    }
    let rate = bandwidth(text).map(|rate| (rate, Counted::Byte));
    rate.map_err(|_| {
        Wrong::new(format!("\"{text}\" is no rate")).help("for example \"1000 iops\" or \"50 MB/s\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit() {
        assert_eq!(duration_ns("1m30s"), Ok(90_000_000_000));
        assert_eq!(duration_ns("10us"), Ok(10_000));
        assert_eq!(duration_ns("1.5s"), Ok(1_500_000_000));
        assert_eq!(
            duration_ns("30").unwrap_err().help.unwrap(),
            "write \"30s\" for seconds, \"30ms\" for milliseconds"
        );
        for text in ["", "s", "-1s", "1 fortnight", "9999999 years", "1e3s"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_counts() {
        assert_eq!(count("100k"), Ok(100_000.0));
        assert_eq!(count("1.5M iops"), Ok(1_500_000.0));
        assert_eq!(count("0"), Ok(0.0));
        assert_eq!(bandwidth("2 GB/s"), Ok(2e9));
        assert_eq!(bandwidth("1GiB/s"), Ok(1_073_741_824.0));
        assert_eq!(bandwidth("7 B/s"), Ok(7.0));
        assert_eq!(rate("1000 iops"), Ok((1000.0, Counted::Io)));
        assert_eq!(rate("50MB/s"), Ok((5e7, Counted::Byte)));
        for text in ["50", "50 MB", "50 M/s", "50 xB/s", "iB/s", "1 iB/s", "x"] {
            assert!(bandwidth(text).is_err(), "{text}");
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn any_unit() {
        assert_eq!(any("825k"), Ok((825_000.0, Unit::Plain)));
        assert_eq!(any("7 GB/s"), Ok((7e9, Unit::BytesPerSecond)));
        assert_eq!(any("10m"), Ok((600e9, Unit::Time)));
        assert_eq!(any("80us"), Ok((80_000.0, Unit::Time)));
        assert_eq!(any("10GiB"), Ok((10.0 * 1_073_741_824.0, Unit::Bytes)));
        assert!(any("many").is_err());
    }
}
