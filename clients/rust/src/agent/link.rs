//! The numbering of one session's messages in both directions, across its connections: what waits
//! to be sent, what is kept until it is acknowledged, and what was seen. Sans-io: it owns no
//! socket and no clock.

use std::collections::{HashMap, VecDeque};

use prost::Message;
use prost::bytes::Bytes;

use crate::proto as pb;
use crate::proto::client_frame::Frame as ClientFrame;

/// Numbered messages that may come before the client acknowledges them with an empty message,
/// where it has nothing else to say.
pub(super) const ACKNOWLEDGE_AFTER_MESSAGES: usize = 16;
/// The same by their size: the server keeps them until then.
const ACKNOWLEDGE_AFTER_BYTES: usize = 1 << 20;
/// Bounds how long the server reads one message.
const MAX_FRAMES_PER_MESSAGE: usize = 64;
/// Room for what a message holds beside its frames.
const MESSAGE_OVERHEAD_BYTES: usize = 64;
/// What a frame costs in its message beside its own bytes.
const FRAME_OVERHEAD_BYTES: usize = 8;

/// Stands for a frame that was queued, so that a FrameError can be told whom it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(u64);

/// Where a frame was sent; all zero before. A frame in pieces spans several messages.
#[derive(Default)]
struct Place {
    first: u64,
    last: u64,
    index: usize,
}

struct Queued {
    frame: pb::ClientFrame,
    size: usize,
    ticket: Ticket,
}

#[derive(Default)]
pub(super) struct Link {
    max_chunk_bytes: usize,
    max_message_bytes: usize,
    max_frame_bytes: usize,
    /// Small answers of handlers and hooks: each stands alone, so they go first.
    answers: VecDeque<Queued>,
    /// Frames whose order counts, pieces of large ones among them.
    orders: VecDeque<Queued>,
    /// Pieces of large answers: one per message, so that they hold up nothing.
    pieces: VecDeque<Queued>,
    /// Goes when nothing else waits.
    farewell: Option<pb::ClientFrame>,
    /// Numbered messages that are not acknowledged, in order.
    kept: VecDeque<pb::ConnectRequest>,
    /// The index of the first kept message that this connection has not sent.
    unsent: usize,
    last_sequence: u64,
    last_seen: u64,
    /// Messages seen that no outgoing message has acknowledged.
    unanswered: usize,
    unanswered_bytes: usize,
    transfers: u64,
    tickets: u64,
    places: HashMap<Ticket, Place>,
    /// Pieces of the server's, by transfer, that wait for the rest of their frame.
    incoming: HashMap<u64, Vec<u8>>,
}

impl Link {
    /// Queues a frame behind those whose order counts. The ticket is kept until it is discarded.
    pub(super) fn order(&mut self, frame: ClientFrame) -> Ticket {
        let (ticket, cut) = self.cut(frame);
        self.orders.extend(cut);
        ticket
    }

    /// Queues the answer of a handler or hook.
    pub(super) fn answer(&mut self, frame: ClientFrame) -> Ticket {
        let (ticket, cut) = self.cut(frame);
        let queue = if cut.len() == 1 { &mut self.answers } else { &mut self.pieces };
        queue.extend(cut);
        ticket
    }

    /// Queues the last word.
    pub(super) fn farewell(&mut self, frame: ClientFrame) {
        self.farewell = Some(pb::ClientFrame { frame: Some(frame) });
    }

    /// Makes pieces of a frame that is large.
    fn cut(&mut self, frame: ClientFrame) -> (Ticket, Vec<Queued>) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.places.insert(ticket, Place::default());
        let frame = pb::ClientFrame { frame: Some(frame) };
        let size = frame.encoded_len();
        if self.max_chunk_bytes == 0 || size <= self.max_chunk_bytes {
            let size = size + FRAME_OVERHEAD_BYTES;
            return (ticket, vec![Queued { frame, size, ticket }]);
        }
        let mut rest = Bytes::from(frame.encode_to_vec());
        self.transfers += 1;
        let mut cut = Vec::new();
        while !rest.is_empty() {
            let data = rest.split_to(rest.len().min(self.max_chunk_bytes));
            let size = data.len() + FRAME_OVERHEAD_BYTES + MESSAGE_OVERHEAD_BYTES;
            let piece = ClientFrame::OutputChunk(pb::OutputChunk {
                transfer_id: self.transfers,
                size_bytes: frame.encoded_len() as u64,
                data,
            });
            cut.push(Queued { frame: pb::ClientFrame { frame: Some(piece) }, size, ticket });
        }
        (ticket, cut)
    }

    /// The next numbered message to send: one that this connection has not sent yet, else a new
    /// one out of what waits. None: nothing waits.
    pub(super) fn take(&mut self) -> Option<pb::ConnectRequest> {
        if self.unsent == self.kept.len() {
            let message = self.pack()?;
            self.kept.push_back(message);
        }
        let mut message = self.kept[self.unsent].clone();
        self.unsent += 1;
        message.acknowledged = self.acknowledge();
        Some(message)
    }

    /// Makes one message out of the frames that wait: those that are ready together go together,
    /// in all about as large as a piece, and one piece of a large answer beside them.
    fn pack(&mut self) -> Option<pb::ConnectRequest> {
        let sequence = self.last_sequence + 1;
        let mut frames = Vec::new();
        let mut room = self.max_message_bytes.saturating_sub(MESSAGE_OVERHEAD_BYTES);
        let mut small = room.min(self.max_chunk_bytes);
        for waiting in [&mut self.answers, &mut self.orders] {
            let mut first = true;
            while let Some(next) = waiting.front() {
                let full = frames.len() >= MAX_FRAMES_PER_MESSAGE
                    || next.size > room
                    || (!first && next.size > small);
                if !frames.is_empty() && full {
                    break;
                }
                first = false;
                small = small.saturating_sub(next.size);
                room = room.saturating_sub(next.size);
                put(waiting, &mut frames, &mut self.places, sequence);
            }
        }
        if let Some(piece) = self.pieces.front()
            && (frames.is_empty() || piece.size <= room)
        {
            put(&mut self.pieces, &mut frames, &mut self.places, sequence);
        }
        if frames.is_empty() {
            frames.extend(self.farewell.take());
        }
        if frames.is_empty() {
            return None;
        }
        self.last_sequence = sequence;
        Some(pb::ConnectRequest { sequence, acknowledged: 0, frames })
    }

    /// An empty message is due.
    pub(super) fn owes_acknowledgement(&self) -> bool {
        self.unanswered >= ACKNOWLEDGE_AFTER_MESSAGES
            || self.unanswered_bytes >= ACKNOWLEDGE_AFTER_BYTES
    }

    /// A message outside the sequence: an acknowledgement and maybe a frame.
    pub(super) fn unnumbered(&mut self, frame: Option<ClientFrame>) -> pb::ConnectRequest {
        let frames = frame.map(|frame| pb::ClientFrame { frame: Some(frame) });
        pb::ConnectRequest {
            sequence: 0,
            acknowledged: self.acknowledge(),
            frames: frames.into_iter().collect(),
        }
    }

    fn acknowledge(&mut self) -> u64 {
        self.unanswered = 0;
        self.unanswered_bytes = 0;
        self.last_seen
    }

    /// Drops what the server has seen.
    pub(super) fn forget(&mut self, acknowledged: u64) {
        while self.kept.front().is_some_and(|message| message.sequence <= acknowledged) {
            self.kept.pop_front();
            self.unsent = self.unsent.saturating_sub(1);
        }
    }

    /// The server has seen everything.
    pub(super) fn idle(&self) -> bool {
        let waiting = self.answers.len() + self.orders.len() + self.pieces.len();
        self.kept.is_empty() && waiting == 0
    }

    /// The highest sequence seen from the server.
    pub(super) fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// The largest frame that the server takes, in bytes. None: any.
    pub(super) fn max_frame_bytes(&self) -> Option<usize> {
        (self.max_frame_bytes > 0).then_some(self.max_frame_bytes)
    }

    /// Takes the sequence and size of a message from the server. False: it was seen before. An
    /// error: messages between are missing.
    pub(super) fn see(&mut self, sequence: u64, size: usize) -> Result<bool, String> {
        let next = self.last_seen + 1;
        if sequence == 0 || sequence < next {
            return Ok(sequence == 0);
        }
        if sequence > next {
            return Err(format!("message {sequence} came where {next} is next"));
        }
        self.last_seen = sequence;
        self.unanswered += 1;
        self.unanswered_bytes += size;
        Ok(true)
    }

    /// A connection begins: what the server has not seen is sent again.
    pub(super) fn resume(&mut self, welcome: &pb::Welcome) {
        self.max_chunk_bytes = welcome.max_chunk_bytes as usize;
        self.max_message_bytes = welcome.max_message_bytes as usize;
        self.max_frame_bytes = welcome.max_frame_bytes as usize;
        self.forget(welcome.last_sequence_received);
        self.last_sequence = self.last_sequence.max(welcome.last_sequence_received);
        self.unsent = 0;
        if welcome.resume_outcome() != pb::ResumeOutcome::Resumed {
            self.last_seen = welcome.next_sequence.max(1) - 1;
            self.incoming.clear();
        }
    }

    /// Takes a piece of a large frame of the server; gives the frame when it is whole. An error:
    /// the pieces cannot be what a server sends that keeps to its limits.
    pub(super) fn join(
        &mut self,
        piece: &pb::OutputChunk,
    ) -> Result<Option<pb::ServerFrame>, String> {
        let (id, size) = (piece.transfer_id, piece.size_bytes);
        if self.max_frame_bytes().is_some_and(|most| size > most as u64) {
            let most = self.max_frame_bytes;
            return Err(format!("transfer {id}: {size} bytes are above the limit of {most}"));
        }
        let joined = self.incoming.entry(id).or_default();
        joined.extend_from_slice(&piece.data);
        if joined.len() as u64 > size {
            return Err(format!("transfer {id}: more than the {size} bytes it was to have"));
        }
        if (joined.len() as u64) < size {
            return Ok(None);
        }
        let whole = Bytes::from(self.incoming.remove(&id).unwrap_or_default());
        let frame = pb::ServerFrame::decode(whole);
        frame.map(Some).map_err(|error| format!("transfer {id} is not a frame: {error}"))
    }

    /// The frame error concerns the frame with this ticket.
    pub(super) fn concerns(&self, error: &pb::FrameError, ticket: Ticket) -> bool {
        self.places.get(&ticket).is_some_and(|place| {
            place.last > 0
                && (place.first..=place.last).contains(&error.sequence)
                && error.frame_index.is_none_or(|index| index as usize == place.index)
        })
    }

    /// Nobody will ask for this ticket any more.
    pub(super) fn discard(&mut self, ticket: Ticket) {
        self.places.remove(&ticket);
    }
}

/// Moves the first frame that waits into a message. Where its ticket counts it is noted where the
/// frame, or its next piece, is.
fn put(
    waiting: &mut VecDeque<Queued>,
    frames: &mut Vec<pb::ClientFrame>,
    places: &mut HashMap<Ticket, Place>,
    sequence: u64,
) {
    if let Some(Queued { frame, ticket, .. }) = waiting.pop_front() {
        if let Some(place) = places.get_mut(&ticket) {
            let first = if place.first == 0 { sequence } else { place.first };
            *place = Place { first, last: sequence, index: frames.len() };
        }
        frames.push(frame);
    }
}
