//! Where a run took place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::TargetIdentity;

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    Block,
    /// A character device without storage, such as `/dev/null`.
    Char,
    /// Nothing behind it: `null` and `sim` need a size only.
    Virtual,
}

/// Host, devices and plugins of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of iodyno.
    pub iodyno_version: String,
    /// The machine.
    pub host: HostFacts,
    /// Every target.
    pub devices: Vec<DeviceFacts>,
    /// Every plugin in use.
    pub plugins: Vec<PluginFact>,
}

/// The machine; what could not be read is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus: Option<u32>,
    /// Frequency governor of CPU 0.
    pub governor: Option<String>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Hypervisor, when the CPU tells of one.
    pub virtualised: Option<bool>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
}

/// A target as the kernel describes it; what does not apply or could not be read is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Label in the suite.
    pub label: String,
    /// What it is.
    pub kind: TargetKind,
    /// Path, made absolute.
    pub path: Option<String>,
    /// Size.
    pub size_bytes: u64,
    /// Offsets, lengths and buffers of direct I/O must be multiples.
    pub granule_bytes: u32,
    /// Logical block.
    pub logical_block_bytes: Option<u32>,
    /// Physical block.
    pub physical_block_bytes: Option<u32>,
    /// `major:minor` of the device, or of the file system that holds a file.
    pub device: Option<String>,
    /// Name in /sys/class/block of the device, or of the one that holds a file.
    pub block_device: Option<String>,
    /// Inode of a file.
    pub inode: Option<u64>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World-wide name.
    pub wwn: Option<String>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// The block layer's queue size.
    pub nr_requests: Option<u32>,
    /// Most bytes that the block layer sends in one request.
    pub max_request_bytes: Option<u64>,
    /// File system type of a file.
    pub filesystem: Option<String>,
    /// Mount point of a file's file system.
    pub mount_point: Option<String>,
    /// NUMA node of the device.
    pub numa_node: Option<i32>,
}

impl DeviceFacts {
    /// What names the target beyond doubt.
    pub fn identity(&self) -> TargetIdentity {
        let facts = self.clone();
        TargetIdentity {
            label: facts.label,
            kind: facts.kind,
            path: facts.path,
            size_bytes: facts.size_bytes,
            device: facts.device,
            inode: facts.inode,
            model: facts.model,
            serial: facts.serial,
            firmware: facts.firmware,
        }
    }

    /// Facts of which no more is known than these.
    pub fn bare(
        label: &str,
        kind: TargetKind,
        path: Option<String>,
        size_bytes: u64,
        granule_bytes: u32,
    ) -> Self {
        DeviceFacts {
            label: label.to_owned(),
            kind,
            path,
            size_bytes,
            granule_bytes,
            logical_block_bytes: None,
            physical_block_bytes: None,
            device: None,
            block_device: None,
            inode: None,
            model: None,
            serial: None,
            firmware: None,
            wwn: None,
            scheduler: None,
            rotational: None,
            write_cache: None,
            nr_requests: None,
            max_request_bytes: None,
            filesystem: None,
            mount_point: None,
            numa_node: None,
        }
    }
}

/// A plugin that could be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginFact {
    /// `workload`, `backend` or `reporter`.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// `built in`, or the file it came from.
    pub source: String,
    /// SHA-256 of that file; `null` for built-ins, which the version of iodyno names.
    pub sha256: Option<String>,
}
