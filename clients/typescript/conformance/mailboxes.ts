/** Letters that wait for a reader, or readers that wait for a letter, in order. */
export class Mailbox<Letter> {
  readonly #letters: Letter[] = [];
  readonly #readers: ((letter: Letter) => void)[] = [];

  /** Leaves a letter. */
  put(letter: Letter): void {
    const reader = this.#readers.shift();
    if (reader === undefined) {
      this.#letters.push(letter);
    } else {
      reader(letter);
    }
  }

  /** Letters that nobody has read. */
  get waiting(): number {
    return this.#letters.length;
  }

  /** The next letter; rejects with the signal's reason where that comes first. */
  take(signal?: AbortSignal): Promise<Letter> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#letters.length > 0) {
        resolve(this.#letters.shift() as Letter);
        return;
      }
      const stop = () => {
        this.#readers.splice(this.#readers.indexOf(read), 1);
        reject(signal?.reason);
      };
      const read = (letter: Letter) => {
        signal?.removeEventListener("abort", stop);
        resolve(letter);
      };
      this.#readers.push(read);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}

/** Mailboxes by key. */
export class Mailboxes<Letter> {
  readonly #boxes = new Map<string, Mailbox<Letter>>();

  box(key: string): Mailbox<Letter> {
    const box = this.#boxes.get(key) ?? new Mailbox();
    this.#boxes.set(key, box);
    return box;
  }
}
