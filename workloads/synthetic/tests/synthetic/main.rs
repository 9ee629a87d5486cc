//! The workload as a host sees it: through the registry, with canonical options.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod golden;
mod laws;
mod options;
mod randomness;

use std::sync::Arc;

use iodyno_plugin::{
    Factory, Filled, More, Op, OpSet, Options, Plugin, Request, Stream, StreamSpec, Workload,
};
use iodyno_synthetic as _;

fn plugin() -> &'static Plugin {
    let mut all = iodyno_plugin::inventory::iter::<Plugin>.into_iter();
    all.find(|plugin| plugin.name == "synthetic").expect("it registers itself")
}

/// The workload with the given options, as JSON, over the defaults.
fn create(json: &str) -> iodyno_plugin::Result<Arc<dyn Workload>> {
    let defaults = r#"{"mix":{"read":100.0},"block_size":[{"value":4096,"weight":1.0}],"pattern":"random",
        "slices":false,"distribution":"uniform"}"#;
    let mut options = Options::from_json(defaults).unwrap();
    options.0.extend(Options::from_json(json).unwrap().0);
    let Factory::Workload(create) = plugin().factory else { panic!("it is a workload") };
    create(&options)
}

/// A single lane over `region_len` bytes of a target with a granule of 512 bytes.
fn lane(seed: u64, region_len: u64) -> StreamSpec {
    StreamSpec { seed, lane: 0, lanes: 1, region_len, granule: 512, max_len: 1 << 30, ops: OpSet::ALL }
}

/// The lane's stream.
fn stream(json: &str, spec: &StreamSpec) -> Box<dyn Stream> {
    create(json).unwrap().stream(spec).unwrap()
}

/// At most `most` requests, asked for `batch` at a time.
fn requests(stream: &mut dyn Stream, most: usize, batch: usize) -> Vec<Request> {
    let mut all = Vec::new();
    while all.len() < most {
        let mut out = vec![Request::default(); batch.min(most - all.len())];
        let Filled { n, more } = stream.fill(&mut out).unwrap();
        all.extend_from_slice(&out[..n]);
        match more {
            More::More => assert!(n > 0, "asked again without end"),
            More::Done => break,
            More::Blocked => panic!("it needs no completions"),
        }
    }
    all
}

/// `r4096@81920` for each request, four in a line.
fn text(requests: &[Request]) -> Vec<String> {
    let one = |r: &Request| {
        assert_eq!((r.flags, r.hint, r.at_ns, r.reserved), (0, 0, 0, 0));
        let op = Op::from_code(r.op).unwrap().name();
        format!("{}{}@{}", &op[..1], r.len, r.offset)
    };
    requests.chunks(4).map(|four| four.iter().map(one).collect::<Vec<_>>().join(" ")).collect()
}
