//! What a suite resolves to.

use iodyno_record::{Fill, Item, ItemKind, Phase, Plan, Setting, Sharing, TargetKind};
use iodyno_suite::{
    Next, Overrides, Place, Suite, TargetFacts, TargetRequest, check, next, plan, sources, targets,
};

use crate::catalog::{Made, facts};

const GIB: u64 = 1 << 30;
const S: u64 = 1_000_000_000;

fn suite(body: &str) -> Suite {
    Suite::parse("folder/some.toml", &format!("schema = 1\n{body}"))
        .unwrap_or_else(|d| panic!("{}", d.render(false)))
}

fn planned_on(body: &str, overrides: &Overrides, facts: TargetFacts) -> Plan {
    plan(&suite(body), overrides, &[facts], &Made, 42).unwrap_or_else(|d| panic!("{}", d.render(false)))
}

fn planned(body: &str) -> Plan {
    planned_on(body, &Overrides::default(), facts(GIB))
}

fn request(body: &str, overrides: &Overrides) -> TargetRequest {
    let mut all = targets(&suite(body), overrides, &Made).unwrap_or_else(|d| panic!("{}", d.render(false)));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn set(arguments: &[&str]) -> Overrides {
    Overrides { set: arguments.iter().map(|a| (*a).to_owned()).collect(), ..Overrides::default() }
}

fn find<'p>(plan: &'p Plan, name: &str) -> &'p Item {
    plan.items.iter().find(|i| i.name == name).unwrap_or_else(|| panic!("no {name}"))
}

const ONE: &str = "[[test]]\nname = \"a\"\nworkload = \"synthetic\"\n";

#[test]
fn the_smallest_suite_makes_a_scratch_file_and_fills_it_first() {
    let plan = planned(ONE);
    assert_eq!((plan.suite.as_str(), plan.seed, plan.profile.clone()), ("some", 42, None));
    let [fill, test] = plan.items.as_slice() else { panic!("{:?}", plan.items) };
    assert_eq!(
        (fill.name.as_str(), fill.id, fill.kind, fill.step.phase),
        ("fill-scratch", 0, ItemKind::Prepare, Phase::Fill)
    );
    assert_eq!((fill.bounds.time_ns, fill.bounds.bytes_written), (None, Some(GIB)));
    assert_eq!((fill.step.measure_ns, fill.step.warmup_ns), (None, 0));
    let Setting::List(sizes) = &fill.step.streams[0].workload.options.0["block_size"] else { panic!() };
    let Setting::Table(size) = &sizes[0] else { panic!() };
    assert_eq!(size["value"], Setting::Int(1 << 20));
    assert_eq!(
        (test.name.as_str(), test.id, test.kind, test.step.phase),
        ("a", 1, ItemKind::Test, Phase::Load)
    );
    assert_eq!((test.bounds.time_ns, test.bounds.bytes_written), (Some(70 * S), Some(0)));
    let stream = &test.step.streams[0];
    assert_eq!((stream.region_offset_bytes, stream.region_len_bytes), (0, GIB));
    assert_eq!((stream.load.outstanding, stream.load.workers, test.step.outstanding), (32, 1, 32));
    assert_eq!((stream.name.as_str(), stream.fill, test.step.interval_ns), ("main", Fill::Random, S));
    assert_eq!((test.step.backend.plugin.as_str(), test.step.direct), ("auto", true));
    assert_eq!(
        stream.workload.options.to_json(),
        r#"{"block_size":[{"value":4096,"weight":1.0}],"mix":{"read":100.0},"pattern":"random","slices":false}"#
    );
    assert!(plan.targets[0].scratch && plan.targets[0].written);
    assert!(fill.step.seed != test.step.seed && test.step.seed < 1 << 53);
    assert_eq!(plan.notes, []);
}

#[test]
fn a_filled_scratch_file_is_left_alone_and_so_is_one_that_nobody_uses() {
    let filled = TargetFacts { filled: true, ..facts(GIB) };
    let plan = planned_on(ONE, &Overrides::default(), filled);
    assert_eq!(plan.items.len(), 1);
    assert!(!plan.targets[0].written);
    let unused = format!("{ONE}requires = {{ capacity = \"2GiB\" }}\n");
    let plan = planned(&unused);
    assert_eq!(plan.items.len(), 1);
    assert!(plan.items[0].not_run.as_ref().unwrap().contains("too small"), "{:?}", plan.items[0].not_run);
    assert_eq!(plan.items[0].bounds.time_ns, Some(0));
    assert_eq!(next(&plan.items[0], &[]), Next::Done);
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    assert_eq!(planned(ONE), planned(ONE));
    let other = plan(&suite(ONE), &Overrides::default(), &[facts(GIB)], &Made, 43).unwrap();
    assert_ne!(other.items[0].step.seed, planned(ONE).items[0].step.seed);
}

#[test]
fn fills_never_inherit_region_or_time() {
    let plan = planned(
        r#"
[defaults]
region = "25%"
phases = { warmup = "1s", measure = "2s" }
backend = { plugin = "fast", polled = true }
direct = false
load = { outstanding = 5 }
[[prepare]]
fill = {}
[[prepare]]
idle = "1m30s"
[[prepare]]
name = "precondition"
fill = { passes = 2, block_size = "64k", pattern = "random", outstanding = 8, region = "512MiB" }
[[prepare]]
fill = { workload = { slices = true, passes = 3 } }
[[test]]
name = "fill-2"
workload = "synthetic"
"#,
    );
    let names: Vec<&str> = plan.items.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["fill-scratch", "fill", "idle", "precondition", "fill-3", "fill-2"]);
    let fill = &find(&plan, "fill").step;
    assert_eq!((fill.streams[0].region_len_bytes, fill.measure_ns, fill.warmup_ns), (GIB, None, 0));
    assert_eq!((fill.outstanding, fill.direct, fill.backend.plugin.as_str()), (32, false, "fast"));
    let idle = find(&plan, "idle");
    assert_eq!(
        (idle.step.phase, idle.step.measure_ns, idle.bounds.time_ns),
        (Phase::Idle, Some(90 * S), Some(90 * S))
    );
    assert_eq!((idle.step.streams.len(), idle.bounds.bytes_written), (0, Some(0)));
    let twice = find(&plan, "precondition");
    assert_eq!((twice.bounds.bytes_written, twice.step.streams[0].region_len_bytes), (Some(GIB), GIB / 2));
    assert_eq!(twice.step.streams[0].workload.options.0["pattern"], Setting::Text("random".to_owned()));
    let thrice = find(&plan, "fill-3");
    assert_eq!(thrice.bounds.bytes_written, Some(3 * GIB));
    assert_eq!(thrice.step.streams[0].workload.options.0["pattern"], Setting::Text("sequential".to_owned()));
    assert_eq!(find(&plan, "fill-2").step.streams[0].region_len_bytes, GIB / 4);
}

#[test]
fn regions_are_rounded_inward_with_a_note() {
    let body = format!("{ONE}region = \"5%..50%\"\n");
    let plan = planned(&body);
    let stream = &find(&plan, "a").step.streams[0];
    assert_eq!((stream.region_offset_bytes, stream.region_len_bytes), (53_690_368, 536_870_912 - 53_690_368));
    let [note] = plan.notes.as_slice() else { panic!("{:?}", plan.notes) };
    assert_eq!(note.code, "region_rounded");
    assert_eq!(
        note.text,
        "`a`: region 5%..50% is 53687091 to 536870912 bytes, rounded inward to 53690368 to 536870912"
    );
    // A large block aligns both ends, but at the target's end nothing is left out that it takes.
    let body = "[[test]]\nname = \"a\"\nworkload = { plugin = \"synthetic\", block_size = \"1MiB\" }\nregion = \"4k..100%\"\n";
    let plan = planned_on(body, &Overrides::default(), facts(GIB + 4096));
    let stream = &find(&plan, "a").step.streams[0];
    assert_eq!((stream.region_offset_bytes, stream.region_len_bytes), (1 << 20, GIB + 4096 - (1 << 20)));
    let plan = planned(&body.replace("100%", "33.3%"));
    let stream = &find(&plan, "a").step.streams[0];
    assert_eq!((stream.region_offset_bytes, stream.region_len_bytes), (1 << 20, 339 << 20));
}

#[test]
fn decimal_sizes_are_noted() {
    let plan = planned(&format!("{ONE}region = \"100MB\"\nrequires = {{ capacity = \"1GB\" }}\n"));
    let texts: Vec<&str> = plan.notes.iter().map(|n| n.text.as_str()).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].starts_with("\"100MB\" was read as decimal (100000000 bytes)"), "{texts:?}");
    assert!(texts[1].starts_with("\"1GB\" was read as decimal (1000000000 bytes)"), "{texts:?}");
}

#[test]
fn streams_share_or_stand_alone() {
    let plan = planned(
        r#"
[[test]]
name = "shared"
workload = { plugin = "synthetic", mix = { read = 100 } }
load = { outstanding = 10, workers = 2 }
[[test.stream]]
name = "hot"
weight = 9
region = "10%"
[[test.stream]]
name = "cold"
workload = { block_size = "64k" }

[[test]]
name = "alone"
streams = "independent"
buffers = { fill = "zero" }
workload = "synthetic"
load = { outstanding = 3 }
[[test.stream]]
name = "data"
load = { outstanding = 34 }
[[test.stream]]
name = "log"
workload = { mix = { write = 99, flush = 1 } }
"#,
    );
    let shared = &find(&plan, "shared").step;
    assert_eq!((shared.sharing, shared.outstanding), (Sharing::Shared, 10));
    let of = |step: &iodyno_record::StepSpec| {
        step.streams.iter().map(|s| (s.name.clone(), s.load.outstanding, s.weight)).collect::<Vec<_>>()
    };
    assert_eq!(of(shared), [("hot".to_owned(), 10, 9.0), ("cold".to_owned(), 10, 1.0)]);
    assert_eq!(shared.streams[1].load.workers, 2);
    let alone = find(&plan, "alone");
    assert_eq!((alone.step.sharing, alone.step.outstanding), (Sharing::Independent, 37));
    assert_eq!(of(&alone.step), [("data".to_owned(), 34, 1.0), ("log".to_owned(), 3, 1.0)]);
    assert_eq!((alone.step.streams[1].fill, alone.bounds.bytes_written), (Fill::Zero, None));
    assert!(plan.targets[0].written);
}

#[test]
fn what_is_set_of_a_target_counts_for_the_one_of_the_command_line() {
    let overrides = Overrides { targets: vec!["null.img".to_owned()], ..set(&["target.target.serial=S1"]) };
    let found = request(ONE, &overrides);
    assert_eq!((found.place, found.serial.as_deref()), (Place::Path("null.img".to_owned()), Some("S1")));
    let overrides = Overrides { size: Some("1GiB".to_owned()), ..set(&["target.scratch.scratch=2GiB"]) };
    assert_eq!(request(ONE, &overrides).place, Place::Scratch { path: None, size_bytes: 2 * GIB });
}

#[test]
fn the_command_line_wins_over_the_profile_and_that_over_the_suite() {
    let body = r#"
[defaults]
backend = { plugin = "memory", servers = 4 }
phases = { measure = "30s" }
[[test]]
name = "a.b"
workload = { plugin = "synthetic", mix = { read = 70, write = 30 } }
[[test]]
name = "c"
workload = "synthetic"
backend = { plugin = "memory", service = "1ms" }
[profile.quick.defaults]
phases = { warmup = "1s", measure = "3s" }
[profile.quick.test.c]
backend = "slow"
load = { outstanding = 2 }
"#;
    let arguments = [
        "test.\"a.b\".workload.mix.read=60",
        "test.\"a.b\".workload.mix.write=40",
        "test.c.load.outstanding=8",
        "defaults.direct=false",
    ];
    let overrides = Overrides { profile: Some("quick".to_owned()), ..set(&arguments) };
    let plan = planned_on(body, &overrides, facts(GIB));
    assert_eq!(plan.profile.as_deref(), Some("quick"));
    let (a, c) = (&find(&plan, "a.b").step, &find(&plan, "c").step);
    assert_eq!((a.warmup_ns, a.measure_ns, a.direct), (S, Some(3 * S), false));
    assert_eq!(
        a.streams[0].workload.options.to_json().split("\"mix\":").nth(1).unwrap().split('}').next(),
        Some("{\"read\":60.0,\"write\":40.0")
    );
    assert_eq!(a.backend.options.to_json(), r#"{"servers":4,"service":100000}"#);
    assert_eq!((c.backend.plugin.as_str(), c.outstanding), ("slow", 8));
    let without = planned(body);
    assert_eq!(find(&without, "c").step.backend.options.to_json(), r#"{"servers":4,"service":1000000}"#);
    assert_eq!(suite(body).profiles(), ["quick"]);
}

#[test]
fn a_plugin_that_the_command_line_names_begins_with_its_own_options() {
    let body =
        format!("[defaults]\nbackend = {{ plugin = \"memory\", servers = 7, service = \"1ms\" }}\n{ONE}");
    let backend = |arguments: &[&str]| {
        let plan = planned_on(&body, &set(arguments), facts(GIB));
        let used = &find(&plan, "a").step.backend;
        (used.plugin.clone(), used.options.to_json())
    };
    let memory = |servers: u32, service: u32| {
        ("memory".to_owned(), format!(r#"{{"servers":{servers},"service":{service}}}"#))
    };
    let fast = |polled: bool| ("fast".to_owned(), format!(r#"{{"polled":{polled}}}"#));
    assert_eq!(backend(&["test.a.backend.plugin=fast"]), fast(false));
    assert_eq!(backend(&["test.a.backend.plugin=fast", "test.a.backend.polled=true"]), fast(true));
    assert_eq!(backend(&["test.a.backend.plugin=memory"]), memory(7, 1_000_000), "it is the same");
    assert_eq!(backend(&["test.a.backend=memory"]), memory(7, 1_000_000), "it is the same");
    assert_eq!(backend(&["test.a.backend.servers=8"]), memory(8, 1_000_000));
}

#[test]
fn every_value_tells_who_says_it() {
    let body = r#"
[defaults]
phases = { measure = "30s" }
[[test]]
name = "a"
workload = { plugin = "synthetic", block_size = "8k" }
expect = ["errors == 0"]
[profile.quick.defaults]
phases = { warmup = "1s" }
"#;
    let overrides = Overrides { profile: Some("quick".to_owned()), ..set(&["test.a.load.outstanding=8"]) };
    let all = sources(&suite(body), &overrides, &Made);
    let list: Vec<String> = all
        .iter()
        .filter(|s| !s.path.starts_with("prepare."))
        .map(|s| format!("{} = {} ({})", s.path, s.value, s.source))
        .collect();
    insta::assert_snapshot!(list.join("\n"), @r#"
    target.scratch.label = "scratch" (built-in)
    target.scratch.scratch = "1GiB" (built-in)
    test.a.buffers.compress = 0 (built-in)
    test.a.buffers.dedup = 0 (built-in)
    test.a.buffers.fill = "random" (built-in)
    test.a.direct = true (built-in)
    test.a.expect = ["errors == 0"] (suite, line 8)
    test.a.interval = "1s" (built-in)
    test.a.load.outstanding = 8 (--set)
    test.a.load.workers = 1 (built-in)
    test.a.phases.measure = "30s" (suite, line 4)
    test.a.phases.warmup = "1s" (profile quick, line 10)
    test.a.region = "100%" (built-in)
    test.a.streams = "shared" (built-in)
    test.a.workload.plugin = "synthetic" (suite, line 7)
    test.a.workload.mix = { read = 100 } (built-in)
    test.a.workload.block_size = "8k" (suite, line 7)
    test.a.workload.pattern = "random" (built-in)
    test.a.workload.slices = false (built-in)
    test.a.backend = "auto" (built-in)
    "#);
    assert!(all.iter().any(|s| s.path == "prepare.fill-scratch.outstanding" && s.value == "8"));
}

#[test]
fn targets_are_asked_for_as_the_suite_and_the_command_line_say() {
    let target = |label: &str, path: &str, size: &str| {
        let overrides = Overrides {
            targets: if path.is_empty() { vec![] } else { vec![path.to_owned()] },
            size: if size.is_empty() { None } else { Some(size.to_owned()) },
            ..Overrides::default()
        };
        let body = match label {
            "" => ONE.to_owned(),
            "scratch" => format!("[[target]]\nlabel = \"DUT\"\nscratch = \"2GiB\"\n{ONE}"),
            "memory" => {
                format!("[[target]]\nlabel = \"DUT\"\nsize = \"100GiB\"\n{ONE}backend = \"memory\"\n")
            }
            _ => format!(
                "[[target]]\nlabel = \"DUT\"\npath = \"/dev/one\"\n[[target]]\nlabel = \"B\"\npath = \"/dev/two\"\n{ONE}"
            ),
        };
        let request = request(&body, &overrides);
        (request.label, request.place)
    };
    let scratch =
        |path: Option<&str>, size_bytes| Place::Scratch { path: path.map(str::to_owned), size_bytes };
    let path = |path: &str| Place::Path(path.to_owned());
    assert_eq!(target("", "", ""), ("scratch".to_owned(), scratch(None, GIB)));
    assert_eq!(target("", "", "4GiB"), ("scratch".to_owned(), scratch(None, 4 * GIB)));
    assert_eq!(target("", "/dev/x", ""), ("target".to_owned(), path("/dev/x")));
    assert_eq!(target("", "LABEL=/dev/x", ""), ("LABEL".to_owned(), path("/dev/x")));
    assert_eq!(target("", "./a=b", ""), ("target".to_owned(), path("./a=b")));
    assert_eq!(target("", "x.dat", "2GiB"), ("target".to_owned(), scratch(Some("x.dat"), 2 * GIB)));
    assert_eq!(target("scratch", "", ""), ("DUT".to_owned(), scratch(None, 2 * GIB)));
    assert_eq!(target("scratch", "/dev/x", ""), ("DUT".to_owned(), path("/dev/x")));
    assert_eq!(target("scratch", "DUT=/dev/x", ""), ("DUT".to_owned(), path("/dev/x")));
    assert_eq!(target("memory", "", "1TiB"), ("DUT".to_owned(), Place::Virtual { size_bytes: 1 << 40 }));
    assert_eq!(target("several", "B=/dev/x", ""), ("B".to_owned(), path("/dev/x")));
}

#[test]
fn a_character_device_needs_a_size() {
    let body = format!("[[target]]\npath = \"/dev/null\"\nsize = \"2GiB\"\n{ONE}");
    let request = request(&body, &Overrides::default());
    assert_eq!((request.place, request.size_bytes), (Place::Path("/dev/null".to_owned()), Some(2 * GIB)));
    let mut null = facts(0);
    null.facts.kind = TargetKind::Char;
    let plan = planned_on(&body, &Overrides::default(), null.clone());
    assert_eq!((plan.targets[0].identity.size_bytes, plan.targets[0].scratch), (2 * GIB, false));
    assert_eq!(find(&plan, "a").step.streams[0].region_len_bytes, 2 * GIB);
    let refused = |body: &str, facts| {
        iodyno_suite::plan(&suite(body), &Overrides::default(), &[facts], &Made, 1).unwrap_err().render(false)
    };
    assert!(refused(&body, facts(GIB)).contains("is a file with a size of its own"));
    assert!(refused(&body.replace("size = \"2GiB\"\n", ""), null).contains("has no storage"));
}

#[test]
fn a_suite_may_only_prepare() {
    let plan = planned("[[prepare]]\nfill = {}\n");
    assert_eq!(plan.items.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["fill-scratch", "fill"]);
}

#[test]
fn requests_say_whether_anything_is_written_past_the_page_cache() {
    let read = request(ONE, &Overrides::default());
    assert_eq!((read.writes, read.direct), (false, true));
    let write = ONE.replace("\"synthetic\"", "{ plugin = \"synthetic\", mix = { flush = 100 } }");
    let write = request(&write, &set(&["defaults.direct=false"]));
    assert_eq!((write.writes, write.direct), (true, false));
}

#[test]
fn what_a_test_requires_decides_whether_it_runs() {
    let body = format!(
        "{ONE}requires = {{ kind = \"block\" }}\nregion = \"500GiB\"\n[[test]]\nname = \"b\"\nworkload = \"synthetic\"\nrequires = {{ kind = \"file\", capacity = \"1GiB\" }}\n"
    );
    let plan = planned(&body);
    assert_eq!(
        find(&plan, "a").not_run.as_deref(),
        Some("target `scratch` is a file, the test requires a block device")
    );
    assert_eq!(find(&plan, "b").not_run, None);
    assert!(matches!(next(find(&plan, "b"), &[]), Next::Run(step) if *step == find(&plan, "b").step));
    let mut block = facts(GIB);
    block.facts.kind = TargetKind::Block;
    let refused = iodyno_suite::plan(&suite(&body), &Overrides::default(), &[block], &Made, 1).unwrap_err();
    assert!(refused.render(false).contains("beyond its end"));
}

#[test]
fn expectations_look_the_data_sheet_up() {
    let body = format!(
        "[[target]]\nscratch = \"1GiB\"\n[target.datasheet]\nread_iops = {{ value = 1000, block_size = \"4k\", region = \"100%\" }}\n{ONE}expect = [\"read.iops >= 95% of datasheet.read_iops\"]\n"
    );
    let plan = planned(&body);
    let limit = iodyno_record::Limit::Datasheet { name: "read_iops".to_owned(), percent: 95.0, value: 950.0 };
    assert_eq!(find(&plan, "a").expects[0].limit, limit);
    assert_eq!(plan.targets[0].datasheet["read_iops"], 1000.0);
}

#[test]
fn a_check_looks_into_every_profile() {
    let body = format!(
        "{ONE}[profile.good.defaults]\ndirect = false\n[profile.bad.test.a]\nworkload = \"sythetic\"\n"
    );
    let suite = suite(&body);
    let found = check(&suite, &Overrides::default(), &Made).unwrap_err();
    assert_eq!(found.len(), 1);
    let first = found.iter().next().unwrap();
    assert_eq!((first.file.as_str(), first.line, first.column), ("folder/some.toml", 8, 12));
    let good = Overrides { profile: Some("good".to_owned()), ..Overrides::default() };
    assert!(check(&suite, &good, &Made).is_ok());
    assert!(plan(&suite, &good, &[facts(GIB)], &Made, 1).is_ok());
}
