//! The option table, and options read and checked against each other.

use iodyno_plugin::{Default, Error, Errors, Op, OpSet, OptionKind, OptionSpec, Options, Result};

use crate::choice::Choice;

/// Longest block: what one buffer may be.
const BLOCK_MAX: u64 = 1 << 30;
const SIZE: OptionKind = OptionKind::Size { min: 1, max: BLOCK_MAX };

const MIX: &[OptionSpec] = &[
    OptionSpec { name: "read", kind: OptionKind::Percent, default: Default::Absent, doc: "Share of reads." },
    OptionSpec {
        name: "write",
        kind: OptionKind::Percent,
        default: Default::Absent,
        doc: "Share of writes.",
    },
    OptionSpec {
        name: "flush",
        kind: OptionKind::Percent,
        default: Default::Absent,
        doc: "Share of flushes, which make completed writes durable.",
    },
];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "mix",
        kind: OptionKind::Table(MIX),
        default: Default::Is("{ read = 100 }"),
        doc: "Operations in percent of all requests, 100 together; each request is drawn anew.",
    },
    OptionSpec {
        name: "block_size",
        kind: OptionKind::Weighted { key: "size", kind: &SIZE },
        default: Default::Is("\"4k\""),
        doc: "Size of a request, or several sizes with weights, drawn anew for each request.",
    },
    OptionSpec {
        name: "pattern",
        kind: OptionKind::Enum(&["sequential", "random", "strided"]),
        default: Default::Is("\"random\""),
        doc: "Where requests go: one after the other, anywhere, or `stride` apart.",
    },
    OptionSpec {
        name: "slices",
        kind: OptionKind::Bool,
        default: Default::Is("false"),
        doc: "Whether each worker has an equal part of the region to itself, instead of all sharing the whole.",
    },
    OptionSpec {
        name: "stride",
        kind: OptionKind::Size { min: 1, max: 1 << 50 },
        default: Default::Absent,
        doc: "With `strided`: from the start of a block to that of the next, a multiple of the largest block \
              size. At the region's end the next round begins one block further on.",
    },
    OptionSpec {
        name: "distribution",
        kind: OptionKind::Enum(&["uniform", "zipf"]),
        default: Default::Is("\"uniform\""),
        doc: "With `random`: whether all places are equally likely, or few are hot, the same for every seed.",
    },
    OptionSpec {
        name: "theta",
        kind: OptionKind::Float { min: 0.01, max: 10.0 },
        default: Default::Absent,
        doc: "With `zipf`: the place of rank k is k^theta times rarer than the hottest; 0.99 if not set.",
    },
    OptionSpec {
        name: "align",
        kind: OptionKind::Size { min: 1, max: BLOCK_MAX },
        default: Default::Absent,
        doc: "With `random`: requests start at multiples of this; if not set, of the block size, with several \
              sizes of their greatest common divisor.",
    },
    OptionSpec {
        name: "passes",
        kind: OptionKind::Int { min: 1, max: u32::MAX as i64 },
        default: Default::Absent,
        doc: "End when the region was covered this often (with `random`: when as many bytes were asked for).",
    },
];

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Sequential,
    Random,
    Strided { stride: u64 },
}

/// How likely places are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    Uniform,
    Zipf { theta: f64 },
}

/// All options, checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Operations that occur, in percent.
    pub(crate) mix: Vec<(Op, f64)>,
    /// Sizes that occur, bytes.
    pub(crate) lens: Vec<u32>,
    /// Draws one of them.
    pub(crate) sizes: Choice,
    pub(crate) pattern: Pattern,
    pub(crate) slices: bool,
    pub(crate) distribution: Distribution,
    /// Random requests start at multiples of this, bytes.
    pub(crate) align: u64,
    pub(crate) passes: Option<u32>,
}

impl Settings {
    /// Reads all options, and tells all that is wrong with them.
    pub(crate) fn read(options: &Options) -> Result<Self> {
        let mut errors = Errors::default();
        let mix = errors.keep(options.table("mix").and_then(|table| mix(&table)), Vec::new());
        let (lens, sizes) = errors.keep(sizes(options), (Vec::new(), Choice::new(&[1.0])));
        let random = options.text("pattern")? == "random";
        let pattern = errors.keep(pattern(options, &lens), Pattern::Random);
        let distribution = errors.keep(distribution(options, random), Distribution::Uniform);
        let align = errors.keep(align(options, random, &lens), 1);
        let passes = errors.keep(passes(options, &mix), None);
        let slices = errors.keep(options.bool("slices"), false);
        errors.end()?;
        Ok(Settings { mix, lens, sizes, pattern, slices, distribution, align, passes })
    }

    /// Operations that occur.
    pub(crate) fn ops(&self) -> OpSet {
        self.mix.iter().fold(OpSet::EMPTY, |set, (op, _)| set.with(*op))
    }

    /// Longest request, bytes.
    pub(crate) fn max_len(&self) -> u32 {
        self.lens.iter().copied().max().expect("there is at least one size")
    }

    /// What divides every length and offset, bytes.
    pub(crate) fn granule(&self) -> u32 {
        let lens = self.lens.iter().copied().fold(0, divisor);
        divisor(lens, u32::try_from(self.align).expect("at most the longest block"))
    }
}

/// Greatest common divisor; that of 0 and a number is the number.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn only_with(option: &str, what: &str) -> Error {
    Error::option(option, format!("has a meaning only with {what}: add that, or leave `{option}` out"))
}

fn mix(table: &Options) -> Result<Vec<(Op, f64)>> {
    let mut mix = Vec::new();
    let mut sum = 0.0;
    for op in Op::ALL {
        let percent = if table.get(op.name()).is_some() { table.float(op.name())? } else { 0.0 };
        if !(0.0..=100.0).contains(&percent) {
            let text = format!("{} = {percent} is no percentage: it must be within 0 and 100", op.name());
            return Err(Error::option("mix", text));
        }
        sum += percent;
        if percent > 0.0 {
            mix.push((op, percent));
        }
    }
    // Decimal fractions are not exact in binary.
    if (sum - 100.0).abs() < 1e-6 {
        return Ok(mix);
    }
    let parts: Vec<String> = mix.iter().map(|(op, percent)| format!("{} {percent}", op.name())).collect();
    let parts = if parts.is_empty() { "nothing".to_owned() } else { parts.join(" + ") };
    let sum = (sum * 1e6).round() / 1e6;
    let text = format!("{parts} is {sum} percent together, must be 100");
    Err(Error::option("mix", text))
}

fn sizes(options: &Options) -> Result<(Vec<u32>, Choice)> {
    let (mut lens, mut weights) = (Vec::new(), Vec::new());
    for (value, weight) in options.weighted("block_size")? {
        let len = value.as_int().and_then(|len| u32::try_from(len).ok());
        let len = len.filter(|len| (1..=BLOCK_MAX).contains(&u64::from(*len))).ok_or_else(|| {
            Error::option("block_size", format!("{value:?} is not within 1 and {BLOCK_MAX} bytes"))
        })?;
        if !(weight >= 0.0 && weight.is_finite()) {
            let text = format!("the weight {weight} of {len} bytes must be a number from 0 on");
            return Err(Error::option("block_size", text));
        }
        if weight > 0.0 {
            lens.push(len);
            weights.push(weight);
        }
    }
    if !weights.iter().sum::<f64>().is_finite() || lens.is_empty() {
        let text = "there must be at least one size with a weight above 0, and weights that can be added up";
        return Err(Error::option("block_size", text));
    }
    Ok((lens, Choice::new(&weights)))
}

fn pattern(options: &Options, lens: &[u32]) -> Result<Pattern> {
    let word = options.text("pattern")?;
    if word != "strided" {
        if options.get("stride").is_some() {
            return Err(only_with("stride", "pattern = \"strided\""));
        }
        return Ok(if word == "sequential" { Pattern::Sequential } else { Pattern::Random });
    }
    // Without a size that may be, any stride may be.
    let block = u64::from(lens.iter().copied().max().unwrap_or(1));
    if options.get("stride").is_none() {
        let text = format!("pattern = \"strided\" needs it: for example stride = {}", 16 * block);
        return Err(Error::option("stride", text));
    }
    let stride = options.bytes("stride")?;
    if stride < block {
        let text = format!("{stride} bytes are less than the block size of {block}: blocks would overlap");
        return Err(Error::option("stride", text));
    }
    if !stride.is_multiple_of(block) {
        let next = stride.next_multiple_of(block);
        let text = format!("{stride} bytes are no multiple of the block size of {block}: {next} would be");
        return Err(Error::option("stride", text));
    }
    Ok(Pattern::Strided { stride })
}

fn align(options: &Options, random: bool, lens: &[u32]) -> Result<u64> {
    match options.get("align") {
        None => Ok(u64::from(lens.iter().copied().fold(0, divisor))),
        Some(_) if !random => Err(only_with("align", "pattern = \"random\"")),
        Some(_) => Ok(options.bytes("align")?.clamp(1, BLOCK_MAX)),
    }
}

fn passes(options: &Options, mix: &[(Op, f64)]) -> Result<Option<u32>> {
    if options.get("passes").is_none() {
        return Ok(None);
    }
    if !mix.is_empty() && mix.iter().all(|(op, _)| *op == Op::Flush) {
        let text = "flushes alone never cover a region: leave it out, or add reads or writes to `mix`";
        return Err(Error::option("passes", text));
    }
    let passes = options.int("passes")?;
    let in_range = u32::try_from(passes).ok().filter(|passes| *passes > 0);
    let wrong = || Error::option("passes", format!("{passes} is not within 1 and {}", u32::MAX));
    in_range.map(Some).ok_or_else(wrong)
}

fn distribution(options: &Options, random: bool) -> Result<Distribution> {
    if options.text("distribution")? != "zipf" {
        if options.get("theta").is_some() {
            return Err(only_with("theta", "distribution = \"zipf\""));
        }
        return Ok(Distribution::Uniform);
    }
    if !random {
        let text = "`zipf` has a meaning only with pattern = \"random\": change one of them";
        return Err(Error::option("distribution", text));
    }
    let theta = if options.get("theta").is_some() { options.float("theta")? } else { 0.99 };
    if !(0.01..=10.0).contains(&theta) {
        return Err(Error::option("theta", format!("{theta} is not within 0.01 and 10")));
    }
    Ok(Distribution::Zipf { theta })
}
