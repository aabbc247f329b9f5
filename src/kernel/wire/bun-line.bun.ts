import { Buffer } from "node:buffer";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { type Dial, type Line, type LinePlace, type LineUser, probeAfterMs } from "./line.ts";

/** A line by Bun's own sockets: for half the CPU time of `node:net`, which Bun builds on them. */
export const dialByBun: Dial = (place, user) => new BunLine(place, user);

type Socket = Bun.Socket<BunLine>;

/** What one address of several did is told only when it was the last. */
type Addresses = readonly string[];

class BunLine implements Line {
  readonly #place: LinePlace;
  readonly #user: LineUser;
  #socket: Socket | undefined;
  /** What the system did not take yet, in order. */
  #waiting: Uint8Array[] = [];
  #isOver = false;
  #isUnref = false;

  constructor(place: LinePlace, user: LineUser) {
    this.#place = place;
    this.#user = user;
    void this.#dial();
  }

  get isFlushed(): boolean {
    return this.#waiting.length === 0;
  }

  write(data: string | Uint8Array): void {
    this.#send(typeof data === "string" ? Buffer.from(data) : data);
  }

  writeAscii(text: string): void {
    const socket = this.#socket;
    if (socket === undefined || this.#waiting.length > 0) {
      this.#send(Buffer.from(text));
      return;
    }
    const sent = socket.write(text);
    if (sent < text.length) this.#waiting.push(Buffer.from(text).subarray(Math.max(0, sent)));
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  ref(): void {
    this.#isUnref = false;
    this.#socket?.ref();
  }

  unref(): void {
    this.#isUnref = true;
    this.#socket?.unref();
  }

  destroy(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#socket?.terminate();
    this.#socket = undefined;
  }

  opened(socket: Socket): void {
    if (this.#isOver) {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    if (this.#place.session !== undefined) socket.setSession(this.#place.session);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, probeAfterMs);
    if (this.#isUnref) socket.unref();
    if (!this.#place.target.isSecure) this.#user.onOpen();
  }

  /** The name in the certificate was compared as well. */
  shaken(isTrusted: boolean, error: Error | null): void {
    if (this.#isOver) return;
    if (isTrusted && error === null && this.#socket?.authorized === true) this.#user.onOpen();
    else this.closed(error ?? Object.assign(new Error("TLS failed"), { code: "ERR_SSL_HANDSHAKE" }));
  }

  received(bytes: Buffer): void {
    if (!this.#isOver) this.#user.onBytes(bytes as Buffer<ArrayBuffer>);
  }

  finished(): void {
    if (!this.#isOver) this.#user.onFinished();
  }

  drained(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const data of waiting) this.#send(data);
  }

  kept(session: Uint8Array): void {
    this.#user.onSession(session);
  }

  closed(error: unknown): void {
    if (this.#isOver) return;
    this.destroy();
    this.#user.onClosed(error);
  }

  #send(data: Uint8Array): void {
    const socket = this.#socket;
    if (this.#isOver) return;
    if (socket === undefined || this.#waiting.length > 0) {
      this.#waiting.push(data);
      return;
    }
    const sent = socket.write(data);
    if (sent < data.byteLength) this.#waiting.push(data.subarray(Math.max(0, sent)));
  }

  /** Tries one address after the other, until one answers or the line is not wanted any more. */
  async #dial(): Promise<void> {
    let last: unknown;
    try {
      for (const address of await addressesOf(this.#place)) {
        if (this.#isOver) return;
        try {
          await this.#connect(address);
          return;
        } catch (error) {
          last = error;
        }
      }
    } catch (error) {
      last = error;
    }
    this.closed(last);
  }

  #connect(address: string): Promise<Socket> {
    const { target, tls } = this.#place;
    const options = { hostname: address, port: target.port, data: this, socket: handlers };
    if (!target.isSecure) return Bun.connect(options);
    // Of an address, which is no name to say, the certificate is compared with `hostname`.
    const { serverName } = target;
    const secure = { ALPNProtocols: protocols, ...tls, ...(serverName && { serverName }), rejectUnauthorized: true };
    return Bun.connect({ ...options, tls: secure as Bun.TLSOptions });
  }
}

/** HTTP/1.1 alone, as TLS writes it: its length, then its name. */
const protocols = "\x08http/1.1";

/** One for all lines: a line has no closures of its own. */
const handlers: Bun.SocketHandler<BunLine> & { session(socket: Socket, session: Buffer): void } = {
  open: (socket) => socket.data.opened(socket),
  handshake: (socket, isTrusted, error) => socket.data.shaken(isTrusted, error),
  data: (socket, bytes) => socket.data.received(bytes),
  end: (socket) => socket.data.finished(),
  // Bun calls it, though its types do not say so; without it every connection would greet anew.
  session: (socket, session) => socket.data.kept(session),
  drain: (socket) => socket.data.drained(),
  close: (socket, error) => socket.data.closed(error),
  error: (socket, error) => socket.data.closed(error),
  // The promise is rejected with the same.
  connectError: () => undefined,
};

/** IPv4 first: where one of the two leads nowhere, it is nearly always the other. */
function addressesOf({ target, lookup }: LinePlace): Promise<Addresses> | Addresses {
  if (lookup === undefined || isIP(target.host) > 0) return [target.host];
  return new Promise((resolve, reject) => {
    lookup(target.host, { all: true }, (error, found) => {
      if (error) return reject(error);
      const all = found as LookupAddress[];
      resolve(all.toSorted((a, b) => a.family - b.family).map(({ address }) => address));
    });
  });
}
