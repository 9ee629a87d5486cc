//! Results in words.

use std::collections::BTreeMap;

use iodyno_record::{
    End, ItemKind, LatencySummary, Op, OpResult, Outcome, Phase, Setting, StepRecord, units,
};

use crate::subject::Entry;

/// What stands where nothing was measured.
pub(crate) const NOTHING: &str = "\u{2013}";

/// The word for an outcome, and the class that colours it.
pub(crate) const fn outcome(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Passed => ("passed", "tag good"),
        Outcome::NotRun => ("not run", "tag off"),
        Outcome::ThresholdsCrossed => ("threshold crossed", "tag bad"),
        Outcome::Failed => ("failed", "tag bad"),
        Outcome::Interrupted => ("interrupted", "tag warn"),
    }
}

/// The outcome of an entry; `not reached` where the run ended before it.
pub(crate) fn state(entry: &Entry<'_>) -> (&'static str, &'static str) {
    entry.result.map_or(("not reached", "tag off"), |result| outcome(result.outcome))
}

/// An entry in one sentence, without its name and outcome; empty where there is nothing to say.
pub(crate) fn sentence(entry: &Entry<'_>) -> String {
    let reason = entry.result.and_then(|r| r.reason.as_deref());
    let Some(step) = entry.step else {
        return match entry.result {
            Some(_) => reason.or(entry.item.not_run.as_deref()).unwrap_or_default().to_owned(),
            None => "the run ended before it".to_owned(),
        };
    };
    let mut text = if step.spec.phase == Phase::Idle {
        format!("idle for {}", units::duration(step.result.window_ns))
    } else {
        measured(step)
    };
    if let End::Errors { reason } | End::Failed { reason } = &step.result.end {
        text += &format!("; stopped: {reason}");
    } else if let Some(reason) = reason {
        text += &format!("; {reason}");
    }
    text
}

fn measured(step: &StepRecord) -> String {
    let result = &step.result;
    let ops: Vec<(&str, &OpResult)> =
        result.streams.iter().flat_map(|s| s.ops.iter().map(|o| (s.name.as_str(), o))).collect();
    let iops = format!("{} IOPS", count(result.iops(None)));
    let bandwidth = result.bandwidth_bytes_per_s(None).map_or(NOTHING.to_owned(), units::bandwidth);
    let at = format!("at {} outstanding", units::count(f64::from(step.spec.outstanding)));
    if ops.iter().all(|(_, o)| o.completed == 0) {
        return format!("nothing completed {at}");
    }
    let written: u64 = ops.iter().map(|(_, o)| o.bytes).sum();
    match ops[..] {
        [(_, op)] if step.spec.phase == Phase::Fill => {
            let (amount, time) = (units::amount(written as f64), units::duration(result.window_ns));
            format!("wrote {amount} in {time}, {bandwidth} {at}{}", latency(op.service.as_ref()))
        }
        [(_, op)] => {
            // Large blocks are about bandwidth, small ones about IOPS.
            let large = op.completed > 0 && op.bytes / op.completed >= 1 << 16;
            let rate = if large { format!("{bandwidth} ({iops})") } else { iops };
            format!("{rate} {at}{}", latency(op.service.as_ref()))
        }
        _ => {
            let streams = result.streams.len();
            let each = ops.iter().map(|(stream, op)| {
                let name =
                    if streams > 1 { format!("{stream} {}", op.op.name()) } else { op.op.name().to_owned() };
                format!("{name} {} IOPS{}", count(op.iops), latency(op.service.as_ref()))
            });
            format!("{iops}, {bandwidth} {at}: {}", each.collect::<Vec<_>>().join("; "))
        }
    }
}

fn latency(latency: Option<&LatencySummary>) -> String {
    let Some(latency) = latency else { return String::new() };
    let p99 = latency.percentile(99.0);
    let p99 = p99.map_or(String::new(), |p| format!(", p99 {}", units::latency(p.value_ns as f64)));
    format!(", mean {}{p99}", units::latency(latency.mean_ns))
}

/// Errors by errno: `3 (errno 5)`, `3 (errno 5: 2, errno 28: 1)`, `0`.
pub(crate) fn errors(errors: &BTreeMap<i32, u64>) -> String {
    let total: u64 = errors.values().sum();
    let kinds: Vec<String> = match errors.len() {
        0 => return "0".to_owned(),
        1 => errors.keys().map(|errno| format!("errno {errno}")).collect(),
        _ => errors.iter().map(|(errno, n)| format!("errno {errno}: {n}")).collect(),
    };
    format!("{total} ({})", kinds.join(", "))
}

/// Bandwidth; nothing for an operation that moves no bytes.
pub(crate) fn bandwidth(op: &OpResult) -> String {
    let bandwidth = op.bandwidth_bytes_per_s.filter(|_| op.op != Op::Flush);
    bandwidth.map_or(NOTHING.to_owned(), units::bandwidth)
}

/// A rate or mean count, where there is one.
pub(crate) fn count(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), units::count)
}

/// A count in groups of three: `10 755 613`, with narrow spaces.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// An option's value; its key tells a size from a number.
pub(crate) fn setting(key: &str, value: &Setting) -> String {
    let size = ["size", "bytes"].iter().any(|end| key.ends_with(end));
    match value {
        Setting::Bool(true) => "yes".to_owned(),
        Setting::Bool(false) => "no".to_owned(),
        Setting::Int(bytes) if size && *bytes >= 0 => units::size(bytes.unsigned_abs()),
        Setting::Int(number) => number.to_string(),
        Setting::Float(number) => number.to_string(),
        Setting::Text(text) => text.clone(),
        Setting::List(list) => {
            list.iter().map(|v| weighted(key, v, list.len())).collect::<Vec<_>>().join(", ")
        }
        Setting::Table(table) => {
            table.iter().map(|(k, v)| format!("{k} {}", setting(k, v))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// An element of a list: `4KiB`, or `4KiB (weight 60)` in a weighted list of several.
fn weighted(key: &str, element: &Setting, several: usize) -> String {
    if let Setting::Table(table) = element
        && let (Some(value), Some(weight), 2) = (table.get("value"), table.get("weight"), table.len())
    {
        let value = setting(key, value);
        return if several == 1 { value } else { format!("{value} (weight {})", setting("", weight)) };
    }
    setting(key, element)
}

/// The command as it can be typed again in a shell.
pub(crate) fn command(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c))
    };
    let quote = |word: &String| {
        if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// `test` or `preparation`.
pub(crate) const fn kind(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Test => "test",
        ItemKind::Prepare => "preparation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_record::Settings;

    #[test]
    fn settings_read_well() {
        let json = r#"{"block_size":[{"value":4096,"weight":60.0},{"value":65536,"weight":40.0}],"mix":{"read":70.0,"write":30.0},"slices":false,"theta":0.99,"one_size":[{"value":131072,"weight":1.0}]}"#;
        let settings = Settings::from_json(json).unwrap();
        let text: Vec<String> = settings.0.iter().map(|(k, v)| setting(k, v)).collect();
        assert_eq!(
            text,
            ["4KiB (weight 60), 64KiB (weight 40)", "read 70, write 30", "128KiB", "no", "0.99"]
        );
    }

    #[test]
    fn commands_can_be_typed_again() {
        let words = ["iodyno", "run", "my suite.toml", "--set", "a.b='x'", ""].map(String::from);
        assert_eq!(command(&words), r"iodyno run 'my suite.toml' --set 'a.b='\''x'\''' ''");
    }

    #[test]
    fn counts_and_errors() {
        assert_eq!([grouped(0), grouped(999), grouped(1_234_567)], ["0", "999", "1\u{202f}234\u{202f}567"]);
        assert_eq!(errors(&BTreeMap::new()), "0");
        assert_eq!(errors(&BTreeMap::from([(5, 3)])), "3 (errno 5)");
        assert_eq!(errors(&BTreeMap::from([(5, 2), (28, 1)])), "3 (errno 5: 2, errno 28: 1)");
    }
}
