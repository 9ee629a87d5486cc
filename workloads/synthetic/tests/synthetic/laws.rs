//! What holds for every pattern, size and region.

use std::collections::BTreeMap;

use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{More, Op, OpSet, Request, StreamSpec, Workload};

use crate::{create, lane, requests, stream};

/// Options and a region made up from a seed.
struct Case {
    json: String,
    region_len: u64,
    granule: u32,
    lanes: u32,
    passes: u32,
    in_order: bool,
    one_size: bool,
}

fn case(rng: &mut Random) -> Case {
    let pick = |rng: &mut Random, words: &[&str]| words[rng.below(words.len() as u64) as usize].to_owned();
    let granule = [1, 512, 520, 4096][rng.below(4) as usize];
    let lens: Vec<u64> = (0..1 + rng.below(3)).map(|_| granule * (1 + rng.below(20))).collect();
    let largest = *lens.iter().max().unwrap();
    let sizes: Vec<String> =
        lens.iter().map(|len| format!(r#"{{"value":{len},"weight":{}}}"#, 1 + rng.below(5))).collect();
    let pattern = pick(rng, &["sequential", "random", "strided"]);
    let slices = rng.below(2) == 1;
    let lanes = 1 + rng.below(5) as u32;
    let region_len =
        granule * (largest / granule * u64::from(lanes) * 2 + rng.below(500)) + rng.below(granule);
    let passes = 1 + rng.below(3) as u32;
    let mix = pick(
        rng,
        &[r#"{"read":100.0}"#, r#"{"write":100.0}"#, r#"{"read":20.5,"write":70.25,"flush":9.25}"#],
    );
    let extra = match pattern.as_str() {
        "strided" => format!(r#","stride":{}"#, largest * (1 + rng.below(40))),
        "random" => pick(rng, &["", r#","distribution":"zipf""#, r#","distribution":"zipf","theta":1.5"#]),
        _ => String::new(),
    };
    let json = format!(
        r#"{{"mix":{mix},"block_size":[{}],"pattern":"{pattern}","slices":{slices},"passes":{passes}{extra}}}"#,
        sizes.join(",")
    );
    let one_size = lens.iter().all(|len| *len == largest);
    let in_order = pattern != "random";
    Case { json, region_len, granule: granule as u32, lanes, passes, in_order, one_size }
}

/// All requests of all lanes, which are filled in turn with batches of changing length.
fn everything(case: &Case, workload: &dyn Workload, rng: &mut Random) -> Vec<Request> {
    let spec = |lane| StreamSpec {
        seed: rng.clone().bits(),
        lane,
        lanes: case.lanes,
        region_len: case.region_len,
        granule: case.granule,
        max_len: 1 << 20,
        ops: OpSet::ALL,
    };
    let mut streams: Vec<_> =
        (0..case.lanes).map(|lane| Some(workload.stream(&spec(lane)).unwrap())).collect();
    let mut all = Vec::new();
    while streams.iter().any(Option::is_some) {
        for slot in &mut streams {
            let Some(stream) = slot else { continue };
            let mut out = vec![Request::default(); 1 + rng.below(40) as usize];
            let filled = stream.fill(&mut out).unwrap();
            all.extend_from_slice(&out[..filled.n]);
            if filled.more == More::Done {
                *slot = None;
            }
        }
    }
    all
}

fn check(case: &Case, rng: &mut Random) {
    let workload = create(&case.json).unwrap();
    let info = workload.info();
    let all = everything(case, &*workload, rng);
    let usable = case.region_len - case.region_len % u64::from(case.granule);
    for request in &all {
        let (op, len) = (Op::from_code(request.op).unwrap(), u64::from(request.len));
        assert!(info.ops.has(op));
        if op == Op::Flush {
            assert_eq!((request.offset, len), (0, 0));
            continue;
        }
        let end = request.offset + len;
        assert!(len > 0 && len <= u64::from(info.max_len) && end <= usable, "{request:?}");
        let cut = case.in_order && end % u64::from(info.granule) != 0;
        for granule in if cut { [case.granule; 2] } else { [case.granule, info.granule] } {
            assert!(len.is_multiple_of(granule.into()) && request.offset.is_multiple_of(granule.into()));
        }
    }
    let bytes: u64 = all.iter().map(|r| u64::from(r.len)).sum();
    let whole = usable * u64::from(case.passes);
    if case.in_order && case.one_size {
        assert_eq!(bytes, whole);
        for (place, times) in times_covered(&all, case.granule) {
            assert_eq!(times, u64::from(case.passes), "at {place}");
        }
    } else if case.in_order && case.json.contains("sequential") {
        assert_eq!(bytes, whole);
    } else {
        assert!(bytes <= whole, "{bytes} of {whole}");
    }
    if !case.in_order {
        let lost = u64::from(case.lanes) * (u64::from(info.max_len) + 1) * 2 * u64::from(case.passes);
        assert!(bytes + lost >= whole, "{bytes} of {whole}");
    }
}

/// How often each granule was asked for.
fn times_covered(requests: &[Request], granule: u32) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for request in requests {
        for place in (request.offset..request.offset + u64::from(request.len)).step_by(granule as usize) {
            *times.entry(place).or_default() += 1;
        }
    }
    times
}

/// Requests stay within the region and on the granule, and passes cover what they promise. One case alone is
/// repeated by putting its number into the range.
#[test]
fn requests_keep_the_rules_for_any_options_and_region() {
    for number in 0..3000 {
        let mut rng = Random::new(derive(1, number));
        let case = case(&mut rng);
        let told =
            format!("case {number}: {} over {} bytes, {} lanes", case.json, case.region_len, case.lanes);
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&case, &mut rng)));
        assert!(held.is_ok(), "{told}");
    }
}

#[test]
fn a_pass_covers_what_is_no_multiple_of_the_block_size() {
    let json = r#"{"pattern":"sequential","block_size":[{"value":1048576,"weight":1.0}],"passes":2}"#;
    let region = 10 * 1_048_576 + 512;
    let all = requests(&mut *stream(json, &lane(1, region + 100)), 100, 64);
    assert_eq!(all.len(), 22);
    assert_eq!((all[10].len, all[10].offset), (512, 10 * 1_048_576));
    assert_eq!((all[11].len, all[11].offset), (1_048_576, 0));
}

#[test]
fn lanes_share_a_sequential_cursor() {
    let workload = create(r#"{"pattern":"sequential","passes":1}"#).unwrap();
    let spec = StreamSpec { lanes: 8, ..lane(1, 8000 * 4096) };
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let mut stream = workload.stream(&StreamSpec { lane: number, ..spec }).unwrap();
            std::thread::spawn(move || requests(&mut *stream, usize::MAX, 1 + number as usize * 3))
        })
        .collect();
    let mut blocks: Vec<u64> =
        threads.into_iter().flat_map(|t| t.join().unwrap()).map(|r| r.offset / 4096).collect();
    blocks.sort_unstable();
    assert!(blocks.iter().copied().eq(0..8000), "each once");
}

#[test]
fn slices_are_equal_and_do_not_meet() {
    let json = r#"{"pattern":"sequential","slices":true,"passes":1}"#;
    for number in 0..4 {
        let spec = StreamSpec { lane: number, lanes: 4, ..lane(1, 400 * 4096) };
        let all = requests(&mut *stream(json, &spec), 1000, 64);
        let expected = u64::from(number) * 100..u64::from(number + 1) * 100;
        assert!(all.iter().map(|r| r.offset / 4096).eq(expected));
    }
}

#[test]
fn a_stride_visits_one_block_in_each_before_the_next() {
    let json = r#"{"pattern":"strided","stride":16384}"#;
    let all = requests(&mut *stream(json, &lane(1, 10 * 4096 + 512)), 13, 5);
    let blocks: Vec<u64> = all.iter().map(|r| r.offset / 4096).collect();
    assert_eq!(blocks, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 0, 4]);
    assert_eq!((all[8].len, all[9].len), (512, 4096));
    // A stride longer than the region leaves one block in each round.
    let json = r#"{"pattern":"strided","stride":1048576}"#;
    let all = requests(&mut *stream(json, &lane(1, 3 * 4096)), 7, 5);
    assert!(all.iter().map(|r| r.offset / 4096).eq([0, 1, 2, 0, 1, 2, 0]));
}
