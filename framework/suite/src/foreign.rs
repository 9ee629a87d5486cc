//! What other tools call things that a suite calls otherwise, for those who come from them.

/// Words of other tools (fio, Vdbench), and ours for the same.
const FOREIGN: &[(&str, &[&str])] = &[
    ("outstanding", &["iodepth", "qd", "queue_depth", "depth", "threads"]),
    ("workers", &["numjobs", "jobs"]),
    ("block_size", &["bs", "blocksize", "xfersize", "block"]),
    ("mix", &["rw", "readwrite", "rwmixread", "rwmixwrite", "rdpct"]),
    ("measure", &["runtime", "elapsed", "duration"]),
    ("warmup", &["ramp_time", "ramp"]),
    ("pattern", &["seekpct"]),
    ("distribution", &["random_distribution"]),
    ("plugin", &["ioengine"]),
    ("path", &["filename", "lun"]),
    ("passes", &["loops"]),
    ("service", &["lat", "clat", "latency", "mean", "max", "p50", "p90", "p95", "p99", "p999"]),
];

/// Our word, if it may stand here, for one of another tool.
pub(crate) fn translated<'w>(word: &str, words: &[&'w str]) -> Option<&'w str> {
    let (ours, _) = FOREIGN.iter().find(|(_, theirs)| theirs.contains(&word.to_lowercase().as_str()))?;
    words.iter().copied().find(|may_be| may_be == ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_translated_where_ours_may_stand() {
        assert_eq!(translated("IOdepth", &["outstanding", "workers"]), Some("outstanding"));
        assert_eq!(translated("bs", &["mix", "block_size"]), Some("block_size"));
        assert_eq!(translated("bs", &["outstanding"]), None);
        assert_eq!(translated("outstanding", &["outstanding"]), None);
    }
}
