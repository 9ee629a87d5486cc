//! Facts about the machine.

use iodyno_record::HostFacts;

use crate::sysroot::SysRoot;

/// What the kernel says of the machine; what it does not say is `None`.
pub fn host_facts() -> HostFacts {
    host_facts_in(&SysRoot::real())
}

fn host_facts_in(root: &SysRoot) -> HostFacts {
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let cpu = |key: &str| value_of(&cpuinfo, key, ':');
    HostFacts {
        hostname: root.text("proc/sys/kernel/hostname"),
        kernel: root.text("proc/sys/kernel/osrelease"),
        os: root
            .text("etc/os-release")
            .and_then(|text| value_of(&text, "PRETTY_NAME", '='))
            .map(|name| name.trim_matches(['"', '\'']).to_owned()),
        cpu_model: cpu("model name"),
        cpus: root.text("sys/devices/system/cpu/online").as_deref().and_then(count),
        governor: root.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clocksource: root.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        memory_bytes: root
            .text("proc/meminfo")
            .and_then(|text| value_of(&text, "MemTotal", ':'))
            .and_then(|total| total.strip_suffix("kB")?.trim().parse::<u64>().ok())
            .map(|kib| kib * 1024),
        virtualised: cpu("flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        numa_nodes: root.text("sys/devices/system/node/online").as_deref().and_then(count),
    }
}

fn value_of(text: &str, key: &str, separator: char) -> Option<String> {
    let pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.into_iter().find(|(k, _)| k.trim() == key).map(|(_, value)| value.trim().to_owned())
}

/// How many numbers a list such as `0-3,8` holds.
fn count(list: &str) -> Option<u32> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!([count("0"), count("0-3"), count("0-3,8,10-11")], [Some(1), Some(4), Some(7)]);
        assert_eq!([count(""), count("x"), count("3-0")], [None, None, None]);
    }

    #[test]
    fn this_machine() {
        let facts = host_facts();
        assert!(facts.kernel.is_some() && facts.hostname.is_some());
        assert!(facts.cpus.unwrap() >= 1 && facts.memory_bytes.unwrap() > 1 << 26);
    }

    #[test]
    fn a_made_up_machine() {
        let folder = tempfile::tempdir().unwrap();
        let root = SysRoot::at(folder.path());
        assert_eq!(host_facts_in(&root), HostFacts::default(), "nothing there, nothing made up");
        std::fs::create_dir_all(folder.path().join("proc")).unwrap();
        std::fs::create_dir_all(folder.path().join("etc")).unwrap();
        std::fs::write(folder.path().join("proc/meminfo"), "MemTotal:       1024 kB\nMemFree: 1 kB\n")
            .unwrap();
        std::fs::write(folder.path().join("etc/os-release"), "NAME=x\nPRETTY_NAME=\"Some OS 12\"\n").unwrap();
        let cpuinfo = "model name\t: Some CPU\nflags\t\t: fpu hypervisor sse\n";
        std::fs::write(folder.path().join("proc/cpuinfo"), cpuinfo).unwrap();
        let facts = host_facts_in(&root);
        assert_eq!(facts.memory_bytes, Some(1 << 20));
        assert_eq!(facts.os.as_deref(), Some("Some OS 12"));
        assert_eq!(facts.cpu_model.as_deref(), Some("Some CPU"));
        assert_eq!(facts.virtualised, Some(true));
    }
}
