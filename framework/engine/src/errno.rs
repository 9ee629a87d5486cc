//! Names of the error numbers that storage shows, and what to do about them.

/// Number, name, and what it says of a target.
const KNOWN: &[(i32, &str, &str)] = &[
    (1, "EPERM", "the target does not allow it"),
    (4, "EINTR", "a signal interrupted it"),
    (5, "EIO", "the device failed; `dmesg` and its SMART log tell more"),
    (6, "ENXIO", "the device is gone"),
    (9, "EBADF", "the target is not open for this"),
    (11, "EAGAIN", "the kernel has no room for more requests; ask for less outstanding"),
    (12, "ENOMEM", "the kernel has no memory for it"),
    (13, "EACCES", "the target may not be used so"),
    (14, "EFAULT", "the backend used memory that is not there"),
    (16, "EBUSY", "somebody else uses the target"),
    (19, "ENODEV", "the device is gone"),
    (22, "EINVAL", "the target takes no such request; check block size and alignment"),
    (27, "EFBIG", "a file of that size is not allowed"),
    (28, "ENOSPC", "no space is left; make room or use a smaller target"),
    (30, "EROFS", "the target is read-only"),
    (52, "EBADE", "the device reports a reservation conflict or bad exchange"),
    (61, "ENODATA", "nothing was moved: the target became shorter, or its medium failed (see `dmesg`)"),
    (62, "ETIME", "the device did not answer in time"),
    (75, "EOVERFLOW", "the offset is too large"),
    (84, "EILSEQ", "the device reports a protection or checksum error"),
    (95, "EOPNOTSUPP", "the target does not have this operation"),
    (110, "ETIMEDOUT", "the device did not answer in time"),
    (116, "ESTALE", "the file is gone from its server"),
    (121, "EREMOTEIO", "the device failed; `dmesg` and its SMART log tell more"),
    (122, "EDQUOT", "the quota is used up"),
    (125, "ECANCELED", "it was cancelled"),
];

/// `EIO: the device failed; ...`.
pub(crate) fn describe(errno: i32) -> String {
    match KNOWN.iter().find(|(number, ..)| *number == errno) {
        Some((_, name, advice)) => format!("{name}: {advice}"),
        None => format!("errno {errno}: see `man 3 errno`"),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn numbers_are_those_of_this_system() {
        for (errno, name) in [
            (Errno::IO, "EIO"),
            (Errno::NOSPC, "ENOSPC"),
            (Errno::BADE, "EBADE"),
            (Errno::NODATA, "ENODATA"),
            (Errno::TIME, "ETIME"),
            (Errno::OVERFLOW, "EOVERFLOW"),
            (Errno::ILSEQ, "EILSEQ"),
            (Errno::OPNOTSUPP, "EOPNOTSUPP"),
            (Errno::TIMEDOUT, "ETIMEDOUT"),
            (Errno::STALE, "ESTALE"),
            (Errno::REMOTEIO, "EREMOTEIO"),
            (Errno::DQUOT, "EDQUOT"),
            (Errno::CANCELED, "ECANCELED"),
        ] {
            assert!(describe(errno.raw_os_error()).starts_with(&format!("{name}: ")), "{name}");
        }
        assert_eq!(describe(4000), "errno 4000: see `man 3 errno`");
        assert!(KNOWN.is_sorted_by_key(|(number, ..)| *number));
    }
}
