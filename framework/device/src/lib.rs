//! Facts about devices, and the guard that protects them
