//! Times as the contract writes them.

use std::time::{Duration, SystemTime};

/// The longest time that the contract can write, in seconds: ten thousand years.
const LONGEST_SECONDS: u64 = 315_576_000_000;

/// A time, cut to what can be written.
pub(crate) fn wire_duration(said: Duration) -> prost_types::Duration {
    let said = said.min(Duration::from_secs(LONGEST_SECONDS));
    prost_types::Duration { seconds: said.as_secs() as i64, nanos: said.subsec_nanos() as i32 }
}

/// A time that was said; a negative one counts as none.
pub(crate) fn plain_duration(read: Option<prost_types::Duration>) -> Option<Duration> {
    read.map(|read| Duration::try_from(read).unwrap_or_default())
}

pub(crate) fn plain_time(read: Option<prost_types::Timestamp>) -> SystemTime {
    read.and_then(|read| SystemTime::try_from(read).ok()).unwrap_or(SystemTime::UNIX_EPOCH)
}
