//! The data path: clock, lanes, pacing, recording
