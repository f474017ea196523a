//! Letters by key, whoever comes first: who writes or who reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

struct Mailbox<T> {
    sender: UnboundedSender<T>,
    receiver: Arc<AsyncMutex<UnboundedReceiver<T>>>,
}

pub struct Mailboxes<T>(Mutex<HashMap<String, Mailbox<T>>>);

impl<T> Default for Mailboxes<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Mailboxes<T> {
    pub fn put(&self, key: String, letter: T) {
        let sent = self.with(key, |mailbox| mailbox.sender.send(letter));
        sent.unwrap_or_else(|_| unreachable!("the receiver is beside the sender"));
    }

    pub async fn take(&self, key: String) -> T {
        let receiver = self.with(key, |mailbox| Arc::clone(&mailbox.receiver));
        let letter = receiver.lock().await.recv().await;
        letter.unwrap_or_else(|| unreachable!("the sender is beside the receiver"))
    }

    fn with<R>(&self, key: String, act: impl FnOnce(&Mailbox<T>) -> R) -> R {
        let mut boxes = self.0.lock().unwrap();
        act(boxes.entry(key).or_insert_with(|| {
            let (sender, receiver) = unbounded_channel();
            Mailbox { sender, receiver: Arc::new(AsyncMutex::new(receiver)) }
        }))
    }
}
