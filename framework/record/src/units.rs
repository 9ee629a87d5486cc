//! Numbers for people, the same in every reporter: binary sizes, decimal bandwidth, latencies with their unit.

/// A size: `4KiB` where it is a whole number of a binary unit, else `1234B`.
pub fn size(bytes: u64) -> String {
    for (power, name) in [(60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let unit = 1_u64 << power;
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    format!("{bytes}B")
}

/// An amount of data, decimal, four digits: `1.234 GB`.
pub fn amount(bytes: f64) -> String {
    si(bytes, "B")
}

/// Bandwidth, decimal: `3.42 GB/s`.
pub fn bandwidth(bytes_per_s: f64) -> String {
    si(bytes_per_s, "B/s")
}

/// A rate or count with `k`, `M`, `G`: `825k`.
pub fn count(value: f64) -> String {
    si(value, "").replace(' ', "")
}

fn si(value: f64, unit: &str) -> String {
    for (scale, prefix) in [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value.abs() >= scale * 0.999_95 {
            return format!("{} {prefix}{unit}", digits(value / scale));
        }
    }
    format!("{} {unit}", digits(value))
}

/// A latency: `640 ns`, `82.47 us`, `4.012 ms`, `1.5 s`.
pub fn latency(ns: f64) -> String {
    for (scale, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "us")] {
        if ns >= scale * 0.999_95 {
            return format!("{} {unit}", digits(ns / scale));
        }
    }
    format!("{} ns", digits(ns))
}

/// A duration in whole seconds and above: `1h 02m 03s`, `42s`; below ten seconds `1.5s`, below one `250ms`.
pub fn duration(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0 if ns > 0 => format!("{}ms", digits((ns as f64 / 1e6 * 100.0).round() / 100.0)),
        0..10 => format!("{}s", digits((ns as f64 / 1e9 * 100.0).round() / 100.0)),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m {:02}s", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// A moment as `2026-12-01 02:55:12` in UTC. Civil date from days after Hinnant,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (month, day) =
        (if shifted < 10 { shifted + 3 } else { shifted - 9 }, day_of_year - (153 * shifted + 2) / 5 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}")
}

/// Four significant digits without trailing zeroes.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let text = format!("{value:.*}", usize::try_from(4 - before).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(utc(0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_399_999), "2000-02-28 23:59:59");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(utc(1_796_093_712_000), "2026-12-01 02:55:12");
    }

    #[test]
    fn as_people_write_them() {
        assert_eq!([size(0), size(4096), size(4000), size(3 << 30)], ["0B", "4KiB", "4000B", "3GiB"]);
        assert_eq!([size(8 << 60), size(u64::MAX)], ["8EiB", "18446744073709551615B"]);
        assert_eq!([amount(1.5e18), amount(u64::MAX as f64)], ["1.5 EB", "18.45 EB"]);
        assert_eq!([bandwidth(3.42e9), bandwidth(0.0), bandwidth(999.0)], ["3.42 GB/s", "0 B/s", "999 B/s"]);
        assert_eq!([count(825_000.0), count(12.0), count(999_999.0)], ["825k", "12", "1M"]);
        assert_eq!([latency(640.0), latency(82_471.0), latency(1.5e9)], ["640 ns", "82.47 us", "1.5 s"]);
        assert_eq!(
            [0, 250_000, 300_000_000, 1_500_000_000, 42_000_000_000, 3_723_000_000_000].map(duration),
            ["0s", "0.25ms", "300ms", "1.5s", "42s", "1h 02m 03s"]
        );
    }
}
