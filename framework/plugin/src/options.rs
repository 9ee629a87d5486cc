//! Option tables: a closed set of types, so that help, schema, completion, dry run and errors know every
//! plugin's options without running its code.

/// One option of a plugin.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its key in the suite, snake case.
    pub name: &'static str,
    /// Type and limits.
    pub kind: OptionKind,
    /// What holds when the suite does not say.
    pub default: Default,
    /// One sentence for help and schema; says the unit where the type does not.
    pub doc: &'static str,
}

/// What an option is when the suite does not set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be set.
    Required,
    /// It stays away; the plugin sees no value.
    Absent,
    /// A value in TOML notation, for example `"4k"` with its quotes, `100` or `{ read = 100 }`.
    Is(&'static str),
}

/// Types of options. In the canonical JSON that a plugin gets, each has one form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OptionKind {
    /// `true`, `false`. Canonical: bool.
    Bool,
    /// Whole number within limits. Canonical: int.
    Int {
        /// Least.
        min: i64,
        /// Most.
        max: i64,
    },
    /// Number within limits. Canonical: float.
    Float {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// Text. Canonical: string.
    Text,
    /// One of the words. Canonical: string.
    Enum(&'static [&'static str]),
    /// Bytes: `"4k"`, `"1MiB"`, `4096`. Canonical: int, bytes.
    Size {
        /// Least, bytes.
        min: u64,
        /// Most, bytes.
        max: u64,
    },
    /// Time: `"10us"`, `"1m30s"`. Canonical: int, ns.
    Duration {
        /// Least, ns.
        min_ns: u64,
        /// Most, ns.
        max_ns: u64,
    },
    /// Share: `30`, `"30%"`. Canonical: float, 0 to 100.
    Percent,
    /// How often: `"1000 iops"`, `"50 MB/s"`. Canonical: table `{ per_second: float, unit: "io" | "byte" }`.
    Rate,
    /// A place or length on a target: `"25%"`, `"10GiB"`. Canonical: table `{ bytes: int }` or
    /// `{ percent: float }`.
    Extent,
    /// Several of one kind. Canonical: list.
    List(&'static OptionKind),
    /// One value, or a list of `{ size = value, weight = n }`; the key of the value is given here.
    /// Canonical: list of tables `{ value, weight: float }`.
    Weighted {
        /// Key of the value in the long form, for example `size`.
        key: &'static str,
        /// Its type.
        kind: &'static OptionKind,
    },
    /// A table of further options, one level. Canonical: table; keys with `Default::Absent` may be away.
    Table(&'static [OptionSpec]),
}
