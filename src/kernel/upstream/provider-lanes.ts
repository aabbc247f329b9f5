/**
 * WebSockets to providers that stay open between the turns of a client's lane. A provider remembers the last response of such a
 * socket, also one that nobody stores. The next turn then sends only what is new. A lane has one of them at most; it is
 * used for one turn after the other, and only for the route and the key that it was opened with.
 */
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import { LruMap } from "../../lib/lru-map.ts";
import { opcodes, WebSocketParser, writeClose, writeFrame, writeMessage } from "../../lib/web-socket.ts";
import type { ProviderCredential, SocketTurn, SteeringMessage, WebSocketMessage } from "../../provider/index.ts";
import type { Bytes } from "./http-client.ts";
import type { WebSocketConnection } from "./web-socket.ts";

export interface LaneBounds {
  /** An account may have as many sockets as are free, and always {@link ownMin}. */
  readonly socketsMax: number;
  readonly ownMin: number;
  /** Without a turn. */
  readonly idleMs: number;
  /** Between two pings without a turn. A socket that was silent since the last ping is closed. */
  readonly pingMs: number;
  /** No turn begins after this. OpenAI closes a socket after an hour. */
  readonly ageMs: number;
  /** Most bytes of a conversation that is compared with the next turn's. */
  readonly bytesMax: number;
  /** How long a route gets turns by POST alone after a handshake failed. */
  readonly pauseMs: number;
}

const boundsDefault: LaneBounds = {
  socketsMax: 10_000,
  ownMin: 16,
  idleMs: 5 * 60_000,
  pingMs: 20_000,
  ageMs: 50 * 60_000,
  bytesMax: 8 * 1024 * 1024,
  pauseMs: 60_000,
};
const pausesMax = 1000;
/** Nobody reads what a provider sends between turns; more than this ends the socket. */
const strayBytesMax = 64 * 1024;
const goingAway = 1001;

/** Counts the memory of a lane. */
export interface LaneMemory {
  /** @throws When there is no room. */
  grow(bytes: number): void;
  shrink(bytes: number): void;
  release(): void;
}

/** The server and the key of a socket. */
export interface SocketPlace {
  readonly plugin: string;
  readonly url: string;
  readonly credential: ProviderCredential | undefined;
}

/** A turn that a socket is at work for. */
export interface RunningTurn {
  /** Absent until the answer has begun. */
  readonly responseId: string | undefined;
}

/** A turn that follows the running one by itself, if the provider takes the input that steers that one. */
export interface WaitingTurn extends RunningTurn {
  reserve(bytes: number): void;
  /** Hears of its input. Returns whether it is its own. */
  hear(message: SteeringMessage, text: string): boolean;
  /** The running turn has ended. @param ahead Messages that came since. */
  begin(ahead: string[]): void;
  /** The socket is closed. */
  lose(): void;
}

/** The lanes of a process. */
export class ProviderLanes {
  /** Tests lower them. */
  bounds: LaneBounds = boundsDefault;
  readonly now: () => number;
  readonly #byAccount = new Map<string, number>();
  readonly #pausedUntil = new LruMap<number>(pausesMax);
  #size = 0;

  constructor(now: () => number) {
    this.now = now;
  }

  /** How many sockets there are. */
  get size(): number {
    return this.#size;
  }

  /** @param id Names the lane among all of the account. */
  open(account: string, id: string, memory: LaneMemory): ProviderLane {
    return new ProviderLane(this, { account, id, memory });
  }

  mayOpen(account: string, { plugin, url }: SocketPlace): boolean {
    const { socketsMax, ownMin } = this.bounds;
    const free = socketsMax - this.#size;
    if (free <= 0 || (this.#byAccount.get(account) ?? 0) >= Math.max(ownMin, free)) return false;
    return this.now() >= (this.#pausedUntil.get(`${plugin} ${url}`) ?? Number.NEGATIVE_INFINITY);
  }

  pause({ plugin, url }: SocketPlace): void {
    this.#pausedUntil.set(`${plugin} ${url}`, this.now() + this.bounds.pauseMs);
  }

  count(account: string, change: 1 | -1): void {
    this.#size += change;
    const own = (this.#byAccount.get(account) ?? 0) + change;
    if (own === 0) this.#byAccount.delete(account);
    else this.#byAccount.set(account, own);
  }
}

/** The provider's side of a lane of a client's connection. */
export class ProviderLane {
  readonly #lanes: ProviderLanes;
  readonly #account: string;
  readonly #memory: LaneMemory;
  /** Keeps the turns of a lane without a session at one route and key. */
  readonly owner: string;
  #socket: KeptSocket | undefined;
  #hasEnded = false;

  constructor(lanes: ProviderLanes, { account, id, memory }: { account: string; id: string; memory: LaneMemory }) {
    this.#lanes = lanes;
    this.#account = account;
    this.#memory = memory;
    this.owner = `${account} ${id}`;
  }

  /** The socket for a turn at a place. One that is too old, still at work, or of another place is closed. */
  take(place: SocketPlace): KeptSocket | undefined {
    const socket = this.#socket;
    if (socket === undefined || socket.fits(place)) return socket;
    socket.close();
    return undefined;
  }

  /** Whether the response is answered by a socket now. */
  runs(responseId: string): boolean {
    return this.#socket?.running?.responseId === responseId;
  }

  /** The socket that answers a response now, at a place. */
  takeRunning(place: SocketPlace, responseId: string): KeptSocket | undefined {
    return this.runs(responseId) && this.#socket?.isAt(place) === true ? this.#socket : undefined;
  }

  /** Closes the socket. The next turn sends the whole conversation. */
  reset(): void {
    this.#socket?.close();
  }

  mayOpen(place: SocketPlace): boolean {
    return !this.#hasEnded && this.#lanes.mayOpen(this.#account, place);
  }

  /** A handshake failed there: it is not repeated for each turn. */
  pause(place: SocketPlace): void {
    this.#lanes.pause(place);
  }

  keep(connection: WebSocketConnection, place: SocketPlace): KeptSocket {
    this.#lanes.count(this.#account, 1);
    const { bounds, now } = this.#lanes;
    const socket: KeptSocket = new KeptSocket(connection, {
      place,
      bounds,
      now,
      memory: this.#memory,
      onClose: () => {
        this.#lanes.count(this.#account, -1);
        if (this.#socket === socket) this.#socket = undefined;
        if (this.#hasEnded) this.#memory.release();
      },
    });
    this.#socket?.close();
    this.#socket = socket;
    return socket;
  }

  /** The client's connection has ended. A turn that runs goes on to its end. */
  end(): void {
    this.#hasEnded = true;
    if (this.#socket === undefined) this.#memory.release();
    else this.#socket.endAfterTurn();
  }
}

interface KeptSocketOptions {
  readonly place: SocketPlace;
  readonly bounds: LaneBounds;
  readonly memory: LaneMemory;
  now(): number;
  onClose(): void;
}

/** A WebSocket to a provider that is used for one turn after the other. */
export class KeptSocket {
  readonly #connection: WebSocketConnection;
  readonly #options: KeptSocketOptions;
  readonly #reader: ReadableStreamDefaultReader<Bytes>;
  readonly #parser: WebSocketParser;
  readonly #openedMs: number;
  /** The piece that is waited for, during a turn and between two. */
  #next: Promise<Bytes | undefined> | undefined;
  /** Counts the memory of the turn that runs; absent between turns. */
  #reserve: ((bytes: number) => void) | undefined;
  /** Size of a message that has come in part, which the turn that runs counts. */
  #partBytes = 0;
  #running: RunningTurn | undefined;
  #waiting: WaitingTurn | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #pingTimer: ReturnType<typeof setInterval> | undefined;
  /** A ping was sent, and nothing came since. */
  #isPinged = false;
  #endsAfterTurn = false;
  #isClosed = false;
  #strayBytes = 0;
  #before: SocketTurn | undefined;
  #beforeBytes = 0;

  constructor(connection: WebSocketConnection, options: KeptSocketOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#reader = connection.frames.getReader();
    this.#openedMs = options.now();
    this.#parser = new WebSocketParser({
      reserve: (bytes) => {
        this.#reserve?.(bytes);
        this.#partBytes += bytes;
      },
      onPing: (payload) => void (this.#isClosed || connection.write(writeFrame(opcodes.pong, payload))),
    });
  }

  /** The last turn, which its provider remembers. */
  get before(): SocketTurn | undefined {
    return this.#before;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** How the provider closed it; absent: it did not say. */
  get closedBy() {
    return this.#parser.close;
  }

  get running(): RunningTurn | undefined {
    return this.#running;
  }

  /** The turn that steers the running one. */
  get waiting(): WaitingTurn | undefined {
    return this.#waiting;
  }

  isAt({ plugin, url, credential }: SocketPlace): boolean {
    const { place } = this.#options;
    return place.plugin === plugin && place.url === url && place.credential === credential;
  }

  fits(place: SocketPlace): boolean {
    const { bounds, now } = this.#options;
    return this.isAt(place) && this.#reserve === undefined && now() - this.#openedMs < bounds.ageMs;
  }

  /** Begins a turn. @param reserve Counts the memory of a message that has come in part. */
  begin(turn: RunningTurn, reserve: (bytes: number) => void): void {
    this.#stopTimers();
    this.#running = turn;
    this.#reserve = reserve;
  }

  /** Lets a turn follow the running one. */
  await(turn: WaitingTurn): void {
    this.#waiting = turn;
  }

  /** A turn does not follow any more. @param isOpen Its provider may begin it all the same: the socket ends before. */
  leave(turn: WaitingTurn, isOpen: boolean): void {
    if (this.#waiting !== turn) return;
    this.#waiting = undefined;
    if (isOpen) this.#endsAfterTurn = true;
  }

  /** Ends the running turn and begins the one that waits. */
  handOver(turn: SocketTurn | undefined, bytes: number, ahead: string[]): void {
    const next = this.#waiting;
    if (next === undefined || (this.#parser.close !== undefined && ahead.length === 0)) {
      this.close();
      return;
    }
    this.#remember(turn, bytes);
    this.#waiting = undefined;
    this.#running = next;
    const partBytes = this.#partBytes;
    this.#reserve?.(-partBytes);
    this.#reserve = (more) => next.reserve(more);
    next.begin(ahead);
    try {
      next.reserve(partBytes);
    } catch {
      this.close();
    }
  }

  /** Bytes of the conversation up to the last turn. */
  get beforeBytes(): number {
    return this.#beforeBytes;
  }

  /** Sends a frame. Resolves once the provider takes more. */
  send(text: string): Promise<void> | undefined {
    return this.#connection.write(writeMessage(text)) ? undefined : this.#connection.whenWritable();
  }

  /** The next bytes of the turn; `undefined` when the connection has ended. */
  async read(): Promise<Bytes | undefined> {
    if (this.#isClosed || this.#parser.close !== undefined) return undefined;
    const piece = await this.#readPiece();
    this.#next = undefined;
    return piece;
  }

  parse(bytes: Bytes): WebSocketMessage[] {
    return this.#parser.push(bytes);
  }

  /** Its provider does not remember the last turn any more. */
  forget(): void {
    this.#remember(undefined, 0);
  }

  /**
   * Ends the turn. The socket is kept for the next one.
   *
   * @param bytes Size of what the conversation has grown by.
   */
  rest(turn: SocketTurn | undefined, { bytes, continues }: { bytes: number; continues: boolean }): void {
    this.#reserve = undefined;
    this.#running = undefined;
    if (this.#endsAfterTurn || this.#parser.close !== undefined) {
      this.close();
      return;
    }
    this.#remember(turn, bytes + (continues ? this.#beforeBytes : 0));
    const { idleMs, pingMs } = this.#options.bounds;
    this.#isPinged = false;
    this.#idleTimer = setTimeout(() => this.close(), idleMs).unref();
    this.#pingTimer = setInterval(() => this.#ping(), pingMs).unref();
    void this.#watch();
  }

  /** A connection that something between has dropped without a word is found before a turn waits for it. */
  #ping(): void {
    if (this.#isPinged) {
      this.close();
      return;
    }
    this.#isPinged = true;
    this.#connection.write(writeFrame(opcodes.ping, new Uint8Array()));
  }

  #stopTimers(): void {
    clearTimeout(this.#idleTimer);
    clearInterval(this.#pingTimer);
  }

  endAfterTurn(): void {
    this.#endsAfterTurn = true;
    if (this.#reserve === undefined) this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimers();
    this.#remember(undefined, 0);
    this.#parser.end();
    this.#reserve = undefined;
    this.#running = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.lose();
    this.#connection.end(writeClose(goingAway));
    this.#reader.cancel().catch(() => undefined);
    this.#options.onClose();
  }

  #readPiece(): Promise<Bytes | undefined> {
    this.#next ??= this.#reader.read().then(({ value }) => value);
    return this.#next;
  }

  /** Answers pings between turns, and notices that the provider has closed. */
  async #watch(): Promise<void> {
    this.#strayBytes = 0;
    try {
      for (;;) {
        const piece = await this.#readPiece();
        // A turn has begun, which takes the piece.
        if (this.#reserve !== undefined || this.#isClosed) return;
        this.#next = undefined;
        this.#isPinged = false;
        this.#strayBytes += piece?.byteLength ?? 0;
        if (piece !== undefined) this.#parser.push(piece);
        if (piece === undefined || this.#parser.close !== undefined || this.#strayBytes > strayBytesMax) break;
      }
    } catch {
      if (this.#reserve !== undefined) return;
    }
    this.close();
  }

  #remember(turn: SocketTurn | undefined, bytes: number): void {
    const { memory, bounds } = this.#options;
    this.#before = undefined;
    memory.shrink(this.#beforeBytes);
    this.#beforeBytes = 0;
    if (turn === undefined || bytes > bounds.bytesMax) return;
    try {
      memory.grow(bytes);
    } catch {
      // The account has its share of the memory: the next turn sends the whole conversation.
      return;
    }
    this.#before = turn;
    this.#beforeBytes = bytes;
  }
}
