//! Workload synthetic: mixes, patterns and distributions
