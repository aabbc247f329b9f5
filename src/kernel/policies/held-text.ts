/**
 * The one place that holds text of a stream back. A policy looks at windows: what was not sent yet, behind the text before it. The
 * beginning of a window is sent once the policy makes the same of both parts as of the whole, so no match is cut by the pieces that
 * a provider happens to send.
 */

/** More text is not held back: the policy never comes to a part that stays as it is. */
const heldCharactersMax = 1_048_576;

/** The outcome of a look at a text. */
export interface Looked {
  /** The text to send. */
  readonly text: string;
  readonly isDenied: boolean;
  /** How often the policy found what it looks for, by the name that it gives it. */
  readonly count: number;
  readonly label?: string | undefined;
}

/** The looks of a policy at a text of a stream. */
export interface Looks {
  look(text: string): Promise<Looked>;
  /** Takes what was replaced in text that is sent. */
  onReplace(looked: Pick<Looked, "count" | "label">): void;
  /** Returns the error that ends the answer for what was found. */
  deny(looked: Pick<Looked, "count" | "label">): Error;
  /** Returns the error that ends the answer where too much is held back; `undefined`: the text is sent as it came. */
  denyHeld(): Error | undefined;
}

/** Text of one place of a stream, as one policy lets it through. */
export class HeldText {
  readonly #looks: Looks;
  readonly #holdBack: number;
  /** The end of the text that was sent, as it came. */
  #before = "";
  #pending = "";
  /** The next text follows text that was sent to its end. */
  #isFlushed = false;
  /** Shorter text is not looked at again. */
  #nextLength = 0;
  /** The length of the text when it was denied first, and has been since. */
  #deniedLength: number | undefined;

  constructor(looks: Looks, holdBack: number) {
    this.#looks = looks;
    this.#holdBack = holdBack;
  }

  /** Takes more text. Returns the text that may be sent, which may be empty. */
  async push(text: string): Promise<string> {
    this.#pending += text;
    const { length } = this.#pending;
    if (length > heldCharactersMax) {
      const denial = this.#looks.denyHeld();
      if (denial !== undefined) throw denial;
      return this.#send(length, this.#pending, this.#before + this.#pending);
    }
    if (length <= this.#holdBack || length < this.#nextLength) return "";
    const cut = toCut(this.#pending, length - this.#holdBack);
    return cut === 0 ? "" : await this.#release(cut, false);
  }

  /** Returns the rest: no more text follows, or something else comes first. */
  async flush(): Promise<string> {
    const text = this.#pending === "" ? "" : await this.#release(this.#pending.length, true);
    this.#isFlushed = this.#before !== "";
    return text;
  }

  async #release(cut: number, isEnd: boolean): Promise<string> {
    const before = this.#before;
    const pending = this.#pending;
    const all = await this.#looks.look(before + pending);
    if (all.isDenied) return await this.#deny(all, cut, isEnd);
    this.#deniedLength = undefined;
    const passed = pending.slice(0, cut);
    if (all.text === before + pending) return this.#send(cut, passed, before + passed);
    const part = cut === pending.length ? all : await this.#looks.look(before + passed);
    const rest = cut === pending.length ? { text: "", isDenied: false } : await this.#looks.look(pending.slice(cut));
    // A match that lies across the cut makes another text of the whole than of its halves.
    if (part.isDenied || rest.isDenied || all.text !== part.text + rest.text) {
      this.#nextLength = pending.length + Math.max(1, pending.length >> 3);
      return "";
    }
    const repeat = part.text.startsWith(before) ? { text: before, count: 0 } : await this.#looks.look(before);
    if (!part.text.startsWith(repeat.text)) return await this.#forget(part, cut, isEnd);
    const count = part.count - repeat.count;
    if (count > 0) this.#looks.onReplace({ ...part, count });
    return this.#send(cut, part.text.slice(repeat.text.length), part.text);
  }

  /** A match at the end of a window may be none with what follows, so it has to last. */
  async #deny(denied: Looked, cut: number, isEnd: boolean): Promise<string> {
    const isOld = this.#before !== "" && (await this.#looks.look(this.#before)).isDenied;
    if (isOld && !this.#isFlushed) return await this.#forget(denied, cut, isEnd);
    const { length } = this.#pending;
    this.#deniedLength ??= length;
    if (isEnd || length >= this.#deniedLength + this.#holdBack) throw this.#looks.deny(denied);
    return "";
  }

  /** Looks again without the first half of what was sent: cut anywhere, it may read as something else than it was. */
  async #forget(looked: Looked, cut: number, isEnd: boolean): Promise<string> {
    if (this.#isFlushed) throw this.#looks.deny(looked);
    const { length } = this.#before;
    this.#before = length < 4 ? "" : this.#before.slice(toCut(this.#before, (length + 1) >> 1));
    return await this.#release(cut, isEnd);
  }

  /** @param made The text that the policy made of all that was sent. Its end is kept where it is the same. */
  #send(cut: number, text: string, made: string): string {
    const passed = this.#before + this.#pending.slice(0, cut);
    const most = Math.min(2 * this.#holdBack, passed.length, made.length);
    let same = 0;
    while (same < most && passed[passed.length - 1 - same] === made[made.length - 1 - same]) same++;
    this.#before = passed.slice(toCut(passed, passed.length - same));
    this.#pending = this.#pending.slice(cut);
    this.#isFlushed = false;
    this.#nextLength = 0;
    return text;
  }
}

/** A place to cut a text at that leaves no half of a character. */
function toCut(text: string, at: number): number {
  const code = at > 0 ? text.charCodeAt(at - 1) : 0;
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}
