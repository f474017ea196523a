//! Collects what a process writes, within bounds.

use std::collections::VecDeque;

use crate::output::ExecCommandOutput;

/// The room a [`HeadTailBuffer`] has unless told otherwise, in bytes.
pub const COLLECTION_BUFFER_BYTES: usize = 1 << 20;

/// Collects what a process writes: the first and the last half of its room stay, the middle is
/// dropped and counted.
#[derive(Clone, Debug)]
pub struct HeadTailBuffer {
    head_room: usize,
    tail_room: usize,
    observed_bytes: u64,
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl Default for HeadTailBuffer {
    fn default() -> Self {
        Self::new(COLLECTION_BUFFER_BYTES)
    }
}

impl HeadTailBuffer {
    /// A buffer with room for so many bytes.
    pub fn new(capacity: usize) -> Self {
        let head_room = capacity / 2;
        Self {
            head_room,
            tail_room: capacity - head_room,
            observed_bytes: 0,
            head: Vec::new(),
            tail: VecDeque::new(),
        }
    }

    /// Takes what the process wrote next.
    pub fn push(&mut self, written: &[u8]) {
        self.observed_bytes += written.len() as u64;
        let to_head = written.len().min(self.head_room - self.head.len());
        let (head, rest) = written.split_at(to_head);
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(self.tail_room)..];
        let excess = (self.tail.len() + kept.len()).saturating_sub(self.tail_room);
        self.tail.drain(..excess);
        self.tail.extend(kept);
    }

    /// Counts everything that was written.
    pub fn observed_bytes(&self) -> u64 {
        self.observed_bytes
    }

    /// Counts what was dropped from the middle.
    pub fn omitted_bytes(&self) -> u64 {
        self.observed_bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// Counts the tokens of everything that was written, four bytes each.
    pub fn original_token_count(&self) -> u64 {
        self.observed_bytes.div_ceil(4)
    }

    /// What was kept; where something was dropped, a line between head and tail says so.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut kept = self.head.clone();
        let omitted = self.omitted_bytes();
        if omitted > 0 {
            kept.extend_from_slice(format!("\n... {omitted} bytes omitted ...\n").as_bytes());
        }
        kept.extend(&self.tail);
        kept
    }

    /// What was collected as the output of a command; add what else is known of it.
    pub fn output(&self) -> ExecCommandOutput {
        ExecCommandOutput {
            output: self.to_bytes(),
            original_token_count: Some(self.original_token_count()),
            output_omitted_bytes: self.omitted_bytes(),
            ..ExecCommandOutput::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_dropped_and_counted() {
        let table: &[(usize, &[&str], &str, u64)] = &[
            (10, &[], "", 0),
            (10, &["0123456789"], "0123456789", 0),
            (10, &["0123", "456789", "abc"], "01234\n... 3 bytes omitted ...\n89abc", 3),
            (10, &["0123456789abcdef"], "01234\n... 6 bytes omitted ...\nbcdef", 6),
            (3, &["a", "b", "c", "d", "e", "f", "g"], "a\n... 4 bytes omitted ...\nfg", 4),
            (10, &["0", "123456", "7890", "a"], "01234\n... 2 bytes omitted ...\n7890a", 2),
            (0, &["abc"], "\n... 3 bytes omitted ...\n", 3),
        ];
        for (capacity, writes, kept, omitted) in table {
            let mut buffer = HeadTailBuffer::new(*capacity);
            for written in *writes {
                buffer.push(written.as_bytes());
            }
            let output = buffer.output();
            assert_eq!(String::from_utf8(output.output).unwrap(), *kept, "{writes:?}");
            assert_eq!(output.output_omitted_bytes, *omitted, "{writes:?}");
            let observed = writes.concat().len() as u64;
            assert_eq!(buffer.observed_bytes(), observed);
            assert_eq!(output.original_token_count, Some(observed.div_ceil(4)));
        }
    }

    #[test]
    fn the_default_buffer_has_a_mebibyte() {
        let mut buffer = HeadTailBuffer::default();
        buffer.push(&vec![b'x'; COLLECTION_BUFFER_BYTES + 1]);
        assert_eq!(buffer.omitted_bytes(), 1);
    }
}
