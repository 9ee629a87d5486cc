//! Expectations as a suite writes them: `read.service.p99 < 1ms`, `iops >= 95% of datasheet.random_read_iops`.

use std::ops::Range;

use iodyno_record::{Comparison, Expect, Limit, Metric, MetricKind, Op, Side, Statistic};

use crate::diagnostics::{Fault, instead};
use crate::extent::Share;
use crate::quantity::Unit;
use crate::reader::At;
use crate::size::{Decimal, Wrong};
use crate::targets::{self, Target};
use crate::text::Texts;

/// What a test does, as far as it matters for what can be expected of it.
pub(crate) struct Subject<'a> {
    /// Its streams, each with the operations that it asks for.
    pub(crate) streams: Vec<(String, Vec<Op>)>,
    pub(crate) target: &'a Target,
}

/// Words that name a number or a part of its path, so no stream may be called so.
pub(crate) const RESERVED: &[&str] = &[
    "read",
    "write",
    "flush",
    "service",
    "response",
    "latency",
    "iops",
    "bandwidth",
    "errors",
    "completed",
    "bytes",
    "short",
    "zero_reads",
];

const COUNTERS: [(&str, MetricKind); 7] = [
    ("iops", MetricKind::Iops),
    ("bandwidth", MetricKind::Bandwidth),
    ("errors", MetricKind::Errors),
    ("completed", MetricKind::Completed),
    ("bytes", MetricKind::Bytes),
    ("short", MetricKind::Short),
    ("zero_reads", MetricKind::ZeroReads),
];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const FORM: &str = "write METRIC COMPARISON LIMIT, for example \"read.service.p99 < 1ms\" or \"errors == 0\"";

/// Reads one expectation.
///
/// # Errors
/// When it is none, or the test cannot be held to it.
pub(crate) fn parse(line: &At<&str>, subject: &Subject<'_>, texts: &Texts) -> Result<Expect, Fault> {
    Parser { line, subject, texts }.expect()
}

struct Parser<'a> {
    line: &'a At<&'a str>,
    subject: &'a Subject<'a>,
    texts: &'a Texts,
}

impl<'a> Parser<'a> {
    fn expect(&self) -> Result<Expect, Fault> {
        let text = self.line.value;
        let no_comparison = || Fault::new(self.line.place, "this expectation has no comparison").help(FORM);
        let at = text.find(['<', '>', '=', '!']).ok_or_else(no_comparison)?;
        let found = COMPARISONS.iter().find(|(sign, _)| text[at..].starts_with(sign));
        let Some((sign, comparison)) = found else {
            let fault = self.fault(at..at + 1, format!("`{}` is no comparison", &text[at..=at]));
            return Err(fault.help("there are <, <=, ==, !=, >= and >"));
        };
        let metric = self.metric(0..at)?;
        let limit = self.limit(&metric, at + sign.len()..text.len())?;
        Ok(Expect { text: text.to_owned(), metric, comparison: *comparison, limit })
    }

    fn fault(&self, part: Range<usize>, message: impl Into<String>) -> Fault {
        Fault::new(self.texts.within(self.line.place, self.line.value, part), message)
    }

    /// The part without the blanks around it.
    fn trimmed(&self, part: Range<usize>) -> (&'a str, Range<usize>) {
        let whole = &self.line.value[part.clone()];
        let start = part.start + (whole.len() - whole.trim_start().len());
        let text = whole.trim();
        (text, start..start + text.len())
    }

    fn metric(&self, part: Range<usize>) -> Result<Metric, Fault> {
        let (text, place) = self.trimmed(part);
        if text.is_empty() {
            return Err(Fault::new(self.line.place, "this expectation has no metric").help(FORM));
        }
        let mut words = segments(text).peekable();
        let stream = match words.peek() {
            Some(first) if self.subject.streams.iter().any(|(name, _)| name == first) => words.next(),
            _ => None,
        };
        let op = words.peek().and_then(|word| Op::ALL.into_iter().find(|op| op.name() == *word));
        if op.is_some() {
            words.next();
        }
        let rest: Vec<&str> = words.collect();
        let kind = self.kind(text, &rest, place.clone())?;
        let metric = Metric { stream: stream.map(str::to_owned), op, kind };
        self.check_asked(&metric, place)?;
        Ok(metric)
    }

    fn kind(&self, text: &str, words: &[&str], place: Range<usize>) -> Result<MetricKind, Fault> {
        if text.split('.').any(|word| word == "latency") {
            let fault = self.fault(place, "`latency` alone can mean two things");
            return Err(fault.help("write `service` for submission to completion, or `response` for intended start to completion"));
        }
        match words {
            ["service", statistic] => {
                let statistic = self.statistic(statistic, place)?;
                Ok(MetricKind::Latency { side: Side::Service, statistic })
            }
            ["response", ..] => {
                let fault = self.fault(place, "a closed loop has no intended starts, so no response time");
                Err(fault.help("expect something of `service`"))
            }
            ["service"] => {
                let fault = self.fault(place, "`service` is many times, which one?");
                Err(fault.help("write service.mean, service.max, service.p50 or service.p99.9"))
            }
            [word] => match COUNTERS.iter().find(|(name, _)| name == word) {
                Some((_, kind)) => Ok(*kind),
                None => Err(self.unknown(word, place)),
            },
            [] => Err(self.fault(place, "this is no number of a result").help(FORM)),
            [word, ..] => Err(self.unknown(word, place)),
        }
    }

    fn unknown(&self, word: &str, place: Range<usize>) -> Fault {
        let names = self.subject.streams.iter().map(|(name, _)| name.as_str());
        let ops = Op::ALL.iter().map(|op| op.name());
        let words = COUNTERS.iter().map(|(name, _)| *name).chain(["service"]).chain(ops).chain(names);
        self.fault(place, format!("`{word}` is no number of a result")).help(instead(word, words))
    }

    fn statistic(&self, word: &str, place: Range<usize>) -> Result<Statistic, Fault> {
        let percentile = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
                && digits.starts_with(|c: char| c.is_ascii_digit())
                && !digits.ends_with('.');
            digits.parse::<f64>().ok().filter(|p| plain && (0.0..=100.0).contains(p))
        };
        match word {
            "mean" => Ok(Statistic::Mean),
            "min" => Ok(Statistic::Min),
            "max" => Ok(Statistic::Max),
            _ => match word.strip_prefix('p').and_then(percentile) {
                Some(percent) => Ok(Statistic::Percentile(percent)),
                None => {
                    let fault = self.fault(place, format!("`{word}` is no statistic"));
                    Err(fault.help("there are mean, min, max and percentiles like p50, p99 and p99.9"))
                }
            },
        }
    }

    /// What is never asked for is never measured: the expectation could not hold.
    fn check_asked(&self, metric: &Metric, place: Range<usize>) -> Result<(), Fault> {
        let of_stream = |name: &str| metric.stream.as_deref().is_none_or(|stream| stream == name);
        let mut ops =
            self.subject.streams.iter().filter(|(name, _)| of_stream(name)).flat_map(|(_, ops)| ops);
        let needed = match metric.kind {
            MetricKind::ZeroReads if metric.op.is_some_and(|op| op != Op::Read) => {
                let fault = self.fault(place, "only reads can return zeroes");
                return Err(fault.help("write zero_reads alone"));
            }
            MetricKind::ZeroReads => Some(Op::Read),
            _ => metric.op,
        };
        match needed {
            Some(op) if !ops.any(|asked| *asked == op) => {
                let who = metric.stream.as_ref().map_or("this test".to_owned(), |s| format!("stream `{s}`"));
                Err(self
                    .fault(place, format!("{who} asks for no {}, so there is nothing to expect", op.name())))
            }
            _ => Ok(()),
        }
    }

    fn limit(&self, metric: &Metric, part: Range<usize>) -> Result<Limit, Fault> {
        let (text, place) = self.trimmed(part);
        if text.is_empty() {
            return Err(Fault::new(self.line.place, "this expectation has no limit").help(FORM));
        }
        let after_at = |at: usize| text[at + 4..].trim_start().starts_with(|c: char| c.is_ascii_digit());
        if text.find(" at ").is_some_and(after_at) {
            let fault = self.fault(place, "`at` names a point of a curve, and curves are not supported yet");
            return Err(fault.help("leave `at ..` out: a test has one load point"));
        }
        let unit = unit(metric.kind);
        if let Some((share, of)) = text.split_once(" of ") {
            return self.share(share.trim(), of.trim(), unit, place);
        }
        let wrong = |wrong: Wrong| {
            let fault = self.fault(place.clone(), format!("the limit {}", wrong.message));
            fault.help(format!("the limit of this metric is {}, for example {}", unit.name(), unit.example()))
        };
        let bare = Decimal::split(text).is_ok_and(|(number, rest)| rest.is_empty() && number.to_f64() != 0.0);
        if bare && unit != Unit::Plain {
            return Err(wrong(Wrong::new(format!("\"{text}\" has no unit"))));
        }
        let value = if text == "0" { 0.0 } else { unit.parse(text).map_err(wrong)? };
        Ok(Limit::Value { value })
    }

    fn share(&self, share: &str, of: &str, unit: Unit, place: Range<usize>) -> Result<Limit, Fault> {
        let Some(name) = of.strip_prefix("datasheet.") else {
            let fault = self.fault(place, format!("there is no limit `{of}`"));
            return Err(fault.help("a share is one of the data sheet: \"95% of datasheet.NAME\""));
        };
        // More than all of it may well be expected: "at most 120% of datasheet.latency".
        let percent = match share.strip_suffix('%').map(|number| Decimal::split(number.trim())) {
            Some(Ok((number, ""))) if number.to_f64() <= 1e6 => number.to_f64(),
            _ => {
                let fault = self.fault(place, format!("\"{share}\" is no percentage"));
                return Err(fault.help("for example \"95% of datasheet.NAME\""));
            }
        };
        let at = self.texts.within(self.line.place, self.line.value, place.clone());
        let (whole, found) = targets::datasheet_entry(self.subject.target, name, at)?;
        if found != unit {
            let message = format!("datasheet.{name} is {}, this metric is {}", found.name(), unit.name());
            return Err(Fault::new(at, message).help(format!("write value = \"{}\" there", unit.example())));
        }
        Ok(Limit::Datasheet { name: name.to_owned(), percent, value: whole * percent / Share::ALL.percent() })
    }
}

/// The unit of a metric and its limit.
pub(crate) fn unit(kind: MetricKind) -> Unit {
    match kind {
        MetricKind::Bandwidth => Unit::BytesPerSecond,
        MetricKind::Bytes => Unit::Bytes,
        MetricKind::Latency { .. } => Unit::Time,
        MetricKind::Iops
        | MetricKind::Errors
        | MetricKind::Completed
        | MetricKind::Short
        | MetricKind::ZeroReads => Unit::Plain,
    }
}

/// The words between the points; a percentile keeps its own: `p99.9`.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let is_percentile = current.strip_prefix('p').is_some_and(|rest| rest.parse::<f64>().is_ok());
        match current.split_once('.') {
            Some((word, after)) if !is_percentile => {
                rest = Some(after);
                Some(word)
            }
            _ => rest.take(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::targets::Place;
    use crate::text;

    fn read(line: &str) -> Result<Expect, String> {
        let content = format!("\"{line}\"");
        let texts = Texts::new("a.toml", &content, "");
        let place = text::Place { text: text::SUITE, start: 0, end: content.len() };
        let datasheet: BTreeMap<_, _> = [
            ("random_read_iops".to_owned(), (825_000.0, Unit::Plain)),
            ("read_time".to_owned(), (80_000.0, Unit::Time)),
        ]
        .into();
        let target = Target {
            label: "DUT".to_owned(),
            at: place,
            place: Place::Virtual { size_bytes: 0 },
            size: None,
            serial: None,
            datasheet,
        };
        let streams = vec![
            ("data".to_owned(), vec![Op::Read, Op::Write]),
            ("log".to_owned(), vec![Op::Write, Op::Flush]),
        ];
        let subject = Subject { streams, target: &target };
        let diagnostics = |fault| crate::diagnostics::Diagnostics::new(&texts, vec![fault]).render(false);
        parse(&At { value: line, place }, &subject, &texts).map_err(diagnostics)
    }

    fn metric(line: &str) -> (Option<String>, Option<Op>, MetricKind, f64) {
        let expect = read(line).unwrap_or_else(|e| panic!("{e}"));
        let value = match expect.limit {
            Limit::Value { value } | Limit::Datasheet { value, .. } => value,
        };
        (expect.metric.stream, expect.metric.op, expect.metric.kind, value)
    }

    #[test]
    fn metrics_and_limits() {
        let service = |statistic| MetricKind::Latency { side: Side::Service, statistic };
        let p99_9 = service(Statistic::Percentile(99.9));
        assert_eq!(metric("read.service.p99.9 < 1ms"), (None, Some(Op::Read), p99_9, 1e6));
        assert_eq!(
            metric("log.flush.service.max<=2s"),
            (Some("log".into()), Some(Op::Flush), service(Statistic::Max), 2e9)
        );
        assert_eq!(metric("service.mean > 0"), (None, None, service(Statistic::Mean), 0.0));
        assert_eq!(metric("iops >= 100k"), (None, None, MetricKind::Iops, 1e5));
        assert_eq!(
            metric("data.read.bandwidth >= 2 GB/s"),
            (Some("data".into()), Some(Op::Read), MetricKind::Bandwidth, 2e9)
        );
        assert_eq!(metric("errors == 0"), (None, None, MetricKind::Errors, 0.0));
        assert_eq!(metric("bytes != 1GiB"), (None, None, MetricKind::Bytes, 1_073_741_824.0));
        assert_eq!(metric("iops >= 95% of datasheet.random_read_iops").3, 783_750.0);
        assert_eq!(metric("read.service.p50 < 120% of datasheet.read_time").3, 96_000.0);
    }

    #[test]
    fn what_cannot_be_expected_is_refused_with_its_reason() {
        for (line, reason) in [
            ("errors", "no comparison"),
            ("errors = 0", "`=` is no comparison"),
            ("== 0", "no metric"),
            ("errors ==", "no limit"),
            ("latency.p99 < 1ms", "two things"),
            ("read.latency < 1ms", "two things"),
            ("read.response.p99 < 1ms", "no intended starts"),
            ("read.service < 1ms", "which one"),
            ("read.service.p101 < 1ms", "no statistic"),
            ("read.service.p < 1ms", "no statistic"),
            ("read.service.p9. < 1ms", "no statistic"),
            ("read.service.p1e1 < 1ms", "no statistic"),
            ("read.service.median < 1ms", "no statistic"),
            ("read.service.p99 < 1", "has no unit"),
            ("read.service.p99 < 1GiB", "a time, for example 1ms"),
            ("bandwidth > 5", "has no unit"),
            ("iops > 5ms", "unknown unit `ms`"),
            ("ipos > 5", "did you mean `iops`?"),
            ("dta.iops > 5", "did you mean `data`?"),
            ("log.read.iops > 5", "stream `log` asks for no read"),
            ("log.zero_reads == 0", "asks for no read"),
            ("write.zero_reads == 0", "only reads"),
            ("read > 5", "no number of a result"),
            ("iops.p99 > 5", "`iops` is no number"),
            ("iops > 95% of datasheet.random_read_ips", "did you mean `random_read_iops`?"),
            ("iops > 95% of datasheet.read_time", "is a time, this metric is a number"),
            ("iops > 95% of baseline", "no limit `baseline`"),
            ("iops > many of datasheet.read_time", "no percentage"),
            ("read.service.p99 < 1ms at 50%", "curves are not supported yet"),
        ] {
            let told = read(line).expect_err(line);
            assert!(told.contains(reason), "{line}: {told}");
        }
    }
}
