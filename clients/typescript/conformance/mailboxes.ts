/** The suite's answers by key, whoever comes first: who writes or who reads. */
export class Mailboxes<Letter> {
  readonly #letters = new Map<string, Letter[]>();
  readonly #readers = new Map<string, ((letter: Letter) => void)[]>();

  /** Leaves an answer. */
  put(key: string, letter: Letter): void {
    const reader = this.#readers.get(key)?.shift();
    if (reader === undefined) {
      this.#letters.set(key, [...(this.#letters.get(key) ?? []), letter]);
    } else {
      reader(letter);
    }
  }

  /** The next answer; rejects with the signal's reason where that comes first. */
  take(key: string, signal?: AbortSignal): Promise<Letter> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const letter = this.#letters.get(key)?.shift();
      if (letter !== undefined) {
        resolve(letter);
        return;
      }
      const stop = () => {
        this.#readers.get(key)?.splice(this.#readers.get(key)?.indexOf(read) ?? 0, 1);
        reject(signal?.reason);
      };
      const read = (written: Letter) => {
        signal?.removeEventListener("abort", stop);
        resolve(written);
      };
      this.#readers.set(key, [...(this.#readers.get(key) ?? []), read]);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}
