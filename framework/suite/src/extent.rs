//! Places and lengths on a target: `"25%"`, `"10GiB"`, `"5%..100%"`.

use std::fmt;

use iodyno_record::units;

use crate::size::{self, Decimal, Product, Wrong};

/// A share, exactly: 0 to 100 percent in steps of a millionth of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share {
    millionths: u64,
}

const WHOLE: u64 = 100_000_000;

impl Share {
    pub(crate) const ALL: Share = Share { millionths: WHOLE };

    /// Reads `30%`.
    ///
    /// # Errors
    /// When it is none, or not within 0 and 100.
    pub(crate) fn parse(text: &str) -> Result<Share, Wrong> {
        let (number, unit) = Decimal::split(text)?;
        if unit != "%" {
            let wrong = Wrong::new(format!("\"{text}\" is no percentage"));
            return Err(wrong.help("for example 30 or \"30%\""));
        }
        match number.times(1_000_000) {
            Some(Product::Whole(millionths)) if millionths <= u128::from(WHOLE) => {
                Ok(Share { millionths: millionths as u64 })
            }
            Some(Product::Broken(_)) => Err(Wrong::new(format!("\"{text}\" has more than six decimals"))),
            _ => Err(Wrong::new(format!("\"{text}\" is not within 0 and 100 %"))),
        }
    }

    /// As a number from 0 to 100.
    pub(crate) fn percent(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// This share of a size, rounded down.
    pub(crate) fn of(self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.millionths) / u128::from(WHOLE)) as u64
    }
}

/// A size or a share of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Bytes(u64),
    Share(Share),
}

impl Extent {
    /// Reads a size or a share. The second value tells whether a decimal unit was used.
    ///
    /// # Errors
    /// When it is neither.
    pub(crate) fn parse(text: &str) -> Result<(Extent, bool), Wrong> {
        if text.trim_end().ends_with('%') {
            return Share::parse(text).map(|share| (Extent::Share(share), false));
        }
        size::parse(text).map(|size| (Extent::Bytes(size.bytes), size.decimal))
    }

    /// In bytes, on a target of `size_bytes`.
    pub(crate) fn on(self, size_bytes: u64) -> u64 {
        match self {
            Extent::Bytes(bytes) => bytes,
            Extent::Share(share) => share.of(size_bytes),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Bytes(bytes) => f.write_str(&units::size(*bytes)),
            Extent::Share(share) => write!(f, "{}%", share.percent()),
        }
    }
}

/// A part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: Extent,
    pub(crate) end: Extent,
}

impl Region {
    /// The first so many bytes.
    pub(crate) fn first(end: Extent) -> Self {
        Region { start: Extent::Bytes(0), end }
    }

    /// Reads an extent, which starts at 0, or a range of two. The second value tells whether a decimal unit
    /// was used.
    ///
    /// # Errors
    /// When it is neither, or holds nothing on any target.
    pub(crate) fn parse(text: &str) -> Result<(Region, bool), Wrong> {
        let (region, decimal) = match text.split_once("..") {
            Some((start, end)) => {
                let ((start, one), (end, other)) = (Extent::parse(start.trim())?, Extent::parse(end.trim())?);
                (Region { start, end }, one || other)
            }
            None => Extent::parse(text).map(|(end, decimal)| (Region::first(end), decimal))?,
        };
        let empty = match (region.start, region.end) {
            (Extent::Bytes(start), Extent::Bytes(end)) => start >= end,
            (Extent::Share(start), Extent::Share(end)) => start >= end,
            (_, Extent::Bytes(end)) => end == 0,
            (Extent::Bytes(_), Extent::Share(end)) => end.millionths == 0,
        };
        if empty {
            let wrong = Wrong::new(format!("\"{text}\" is empty: it must end behind its start"));
            return Err(wrong.help("for example \"25%\", \"10GiB\" or \"5%..100%\""));
        }
        Ok((region, decimal))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start {
            Extent::Bytes(0) => self.end.fmt(f),
            start => write!(f, "{start}..{}", self.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        let share = |text| Share::parse(text).unwrap();
        assert_eq!(share("100%"), Share::ALL);
        assert_eq!(share("30%").of(10_000), 3000);
        assert_eq!(share("0.1%").of(1_000_000_000_000_000), 1_000_000_000_000);
        assert_eq!(share("100%").of(u64::MAX), u64::MAX);
        assert_eq!(share("5%").of(1 << 30), 53_687_091);
        assert_eq!(share("33.3%").percent(), 33.3);
        for text in ["101%", "-1%", "30", "30 percent", "%", "0.0000001%", "1e2%"] {
            assert!(Share::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn regions() {
        let on = |text: &str, size| {
            let (region, _) = Region::parse(text).unwrap_or_else(|w| panic!("{text}: {}", w.message));
            (region.start.on(size), region.end.on(size))
        };
        assert_eq!(on("25%", 4000), (0, 1000));
        assert_eq!(on("1KiB", 4000), (0, 1024));
        assert_eq!(on("5%..100%", 4000), (200, 4000));
        assert_eq!(on("0..1KiB", 4000), (0, 1024));
        assert_eq!(on("1KiB .. 50%", 4000), (1024, 2000));
        assert_eq!(Region::parse("1GB..2GB").map(|(_, decimal)| decimal), Ok(true));
        for text in ["0%", "0", "5%..5%", "2g..1g", "50%..10%", "..1g", "1g..", "1g..2g..3g", "", "10"] {
            assert_eq!(Region::parse(text).is_err(), text != "10", "{text}");
        }
    }

    #[test]
    fn shown_as_written() {
        for text in ["25%", "10GiB", "5%..100%", "1GiB..50%"] {
            assert_eq!(Region::parse(text).unwrap().0.to_string(), text);
        }
    }
}
