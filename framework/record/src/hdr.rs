//! HdrHistogram V2: single histograms as base64, and the interval log (format 1.3) that HDR tools read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::histogram::{Histogram, slot_highest, slot_lowest, slot_of};

/// Bytes that are no HDR V2 histogram or log.
#[derive(Debug, thiserror::Error)]
#[error("no HdrHistogram V2 data: {0}")]
pub struct HdrError(String);

impl Histogram {
    /// The histogram as HdrHistogram V2, deflated, base64. Values from 2^42 ns on appear at 2^42 - 1.
    pub fn to_hdr_v2(&self) -> String {
        let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, (1 << 42) - 1, 3)
            .expect("the bounds are constant and valid");
        for (slot, n) in self.slots() {
            hdr.record_n(slot_lowest(slot), n).expect("a slot's value is within the bounds");
        }
        if self.overflow() > 0 {
            hdr.record_n((1 << 42) - 1, self.overflow()).expect("the bound itself is within the bounds");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&hdr, &mut bytes).expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Histogram::to_hdr_v2`] or another HDR tool wrote. Sum, minimum and maximum are then
    /// known to a slot's middle or bound only.
    ///
    /// # Errors
    /// When the text is no such histogram.
    pub fn from_hdr_v2(text: &str) -> Result<Histogram, HdrError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|e| HdrError(e.to_string()))?;
        let hdr: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| HdrError(e.to_string()))?;
        let mut out = Histogram::new();
        for value in hdr.iter_recorded() {
            let (low, n) =
                (hdr.lowest_equivalent(value.value_iterated_to()), value.count_since_last_iteration());
            let slot = slot_of(low).ok_or_else(|| HdrError(format!("value {low} is above 2^42 ns")))?;
            out.add_slot(slot, n);
            let middle = u128::from((low + slot_highest(slot)) / 2);
            out.add_exact(n, middle * u128::from(n), low, slot_highest(slot));
        }
        Ok(out)
    }
}

/// Writes and reads the interval log.
pub struct HdrLog;

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct HdrLogEntry {
    /// What it counts: `item/step/kind/stream/operation/side`, with commas and spaces replaced.
    pub tag: String,
    /// Start of the window, ns since the run's start.
    pub start_ns: u64,
    /// Length of the window, ns.
    pub length_ns: u64,
    /// The counts.
    pub histogram: Histogram,
}

impl HdrLog {
    /// The lines that open a log whose times count from `start_unix_ms`.
    pub fn header(start_unix_ms: u64) -> String {
        format!(
            "#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch)]\n#[values in ns; Interval_Max in ms]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            start_unix_ms as f64 / 1e3
        )
    }

    /// One line, with its newline.
    pub fn line(entry: &HdrLogEntry) -> String {
        let tag: String =
            entry.tag.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect();
        format!(
            "Tag={tag},{:.9},{:.9},{:.6},{}\n",
            entry.start_ns as f64 / 1e9,
            entry.length_ns as f64 / 1e9,
            entry.histogram.max_ns().unwrap_or(0) as f64 / 1e6,
            entry.histogram.to_hdr_v2()
        )
    }

    /// Reads a log. A last line that is cut short (the writer was killed) is left out; any other damage is
    /// an error.
    ///
    /// # Errors
    /// With the line's number.
    pub fn read(text: &str) -> Result<Vec<HdrLogEntry>, HdrError> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole
            .lines()
            .enumerate()
            .filter(|(_, l)| !l.starts_with('#') && !l.starts_with('"') && !l.is_empty());
        lines
            .map(|(i, line)| Self::entry(line).map_err(|e| HdrError(format!("line {}: {}", i + 1, e.0))))
            .collect()
    }

    fn entry(line: &str) -> Result<HdrLogEntry, HdrError> {
        let bad = |what: &str| HdrError(format!("{what} in `{}`", line.chars().take(60).collect::<String>()));
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(rest) => rest.split_once(',').ok_or_else(|| bad("no field after the tag"))?,
            None => ("", line),
        };
        let fields: Vec<&str> = rest.split(',').collect();
        let [start, length, _max, histogram] = fields[..] else { return Err(bad("not four fields")) };
        let ns =
            |text: &str| text.parse::<f64>().map(|s| (s * 1e9).round() as u64).map_err(|_| bad("no number"));
        Ok(HdrLogEntry {
            tag: tag.to_owned(),
            start_ns: ns(start)?,
            length_ns: ns(length)?,
            histogram: Histogram::from_hdr_v2(histogram)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Histogram {
        let mut h = Histogram::new();
        for v in [1, 2047, 2048, 100_000, 3_600_000_000_000] {
            h.record(v);
            h.record(v + v / 3);
        }
        h
    }

    #[test]
    fn a_histogram_comes_back_slot_for_slot() {
        let h = example();
        let back = Histogram::from_hdr_v2(&h.to_hdr_v2()).unwrap();
        let expected: Vec<_> = h.slots().collect();
        let mut got: Vec<_> = back.slots().collect();
        let over = got.pop().unwrap();
        assert_eq!(over, (crate::SLOTS - 1, 1), "the value above 2^42 sits at the top");
        assert_eq!(got, expected);
        assert_eq!(back.count(), h.count());
    }

    #[test]
    fn a_log_comes_back_and_a_cut_last_line_is_left_out() {
        let entry = HdrLogEntry {
            tag: "a b/1".into(),
            start_ns: 1_500_000_000,
            length_ns: 1_000_000_000,
            histogram: example(),
        };
        let mut text = HdrLog::header(1_700_000_000_123);
        text += &HdrLog::line(&entry);
        let whole = HdrLog::read(&text).unwrap();
        assert_eq!((whole.len(), whole[0].tag.as_str(), whole[0].start_ns), (1, "a_b/1", 1_500_000_000));
        text += &HdrLog::line(&entry);
        assert_eq!(HdrLog::read(&text[..text.len() - 9]).unwrap().len(), 1);
        assert!(HdrLog::read("Tag=x,1.0,nonsense\n").unwrap_err().to_string().contains("line 1"));
    }
}
