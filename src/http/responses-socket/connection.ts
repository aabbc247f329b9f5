import { setTimeout } from "node:timers";
import { type Caller, GatewayError, quoteValue } from "../../contract/index.ts";
import type { ProviderLane } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import { SseParser } from "../../lib/sse.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import type { HttpDeps } from "../deps.ts";
import { errorResponse } from "../lifecycle/errors.ts";
import { readJsonText, toWellFormedJson } from "../lifecycle/read-body.ts";
import type { MemoryReservation } from "../memory/call-memory.ts";
import { ConversationMemory } from "./conversation-memory.ts";
import { createTurnRequest, type Turn } from "./turn.ts";

/** Lanes with turns, and turns that wait in one. */
const [lanesMax, waitingMax] = [8, 16];
const laneForm = /^[\x20-\x7e]{1,64}$/;
/** More than this is not sent to a client that has not taken it, in bytes. */
export const unsentBytesMax = 1024 * 1024;
/** An account without requests left may send shorter frames: to say what is refused costs little then. */
const shortFrameMax = 64 * 1024;
/** Frames that were not read yet: as many as turns may wait. */
const framesMax = lanesMax * waitingMax;
/** The events of a turn are ours, and a provider's were checked when they came. */
const eventCharactersMax = Number.MAX_SAFE_INTEGER;

/** Codes of RFC 6455 and its registry. OpenAI's clients connect again after the first two. */
export const closeCodes = { goingAway: 1001, restart: 1012, policy: 1008 } as const;

/** How long a connection lives, in milliseconds. */
export interface Lifetimes {
  readonly wholeMs: number;
  readonly idleMs: number;
  /** A client that does not read for so long is left. */
  readonly unreadMs: number;
}

export const lifetimesDefault: Lifetimes = { wholeMs: 60 * 60_000, idleMs: 5 * 60_000, unreadMs: 60_000 };

/** The part of a WebSocket of Bun's server that is used here. */
export interface ServerSocket {
  send(text: string): number;
  close(code: number, reason: string): void;
  getBufferedAmount(): number;
  /** Sends together all that `work` sends. */
  cork(work: () => void): unknown;
}

interface Options {
  readonly handshake: Request;
  readonly caller: Caller;
  readonly address: string;
  readonly lifetimes: Lifetimes;
  /** Runs a turn as a call. */
  run(request: Request, turn: Turn): Promise<Response>;
  onClose(): void;
}

/** Turns of one `stream_id`, or of none, which run in order. */
interface Lane {
  readonly id: string | undefined;
  waiting: number;
  last: Promise<void>;
}

/** A WebSocket of a client that creates responses, one after the other in each lane. */
export class ResponsesConnection {
  readonly #deps: HttpDeps;
  readonly #options: Options;
  readonly #memory: ConversationMemory;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** The key is the lane, also between its turns. */
  readonly #providerLanes = new Map<string | undefined, ProviderLane>();
  readonly #left = new AbortController();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #socket: ServerSocket | undefined;
  /** Frames are read one after the other. */
  #reading = Promise.resolve();
  #frames = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Why it ends between turns; absent: it goes on. */
  #ending: { code: number; reason: string } | undefined;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(deps: HttpDeps, options: Options) {
    this.#deps = deps;
    this.#options = options;
    this.#memory = new ConversationMemory(deps.memory.reserve(options.caller.accountId));
  }

  // The names of the next four are the platform's.

  open(socket: ServerSocket): void {
    this.#socket = socket;
    const { wholeMs } = this.#options.lifetimes;
    this.#after(wholeMs, () => this.end(closeCodes.goingAway, `The connection is ${wholeMs / 60_000} minutes old`));
    this.#rest();
  }

  message(_: ServerSocket, frame: string | Buffer): void {
    if (this.#left.signal.aborted) return;
    if (this.#frames === framesMax) {
      this.#leave(closeCodes.policy, "Too many frames wait to be read");
      return;
    }
    clearTimeout(this.#idleTimer);
    this.#frames++;
    const reading = this.#receive(frame);
    this.#reading = this.#reading
      .then(reading)
      .catch((error) => this.#fail(error))
      .finally(() => {
        this.#frames--;
        this.#rest();
      });
  }

  /** Counts a frame before it waits for its turn to be read. */
  #receive(frame: string | Buffer): () => Promise<void> {
    const reservation = this.#deps.memory.reserve(this.#options.caller.accountId);
    try {
      reservation.grow(frame.length);
    } catch (error) {
      return () => Promise.reject(error);
    }
    return () => this.#read(frame, reservation);
  }

  drain(): void {
    if (this.#isBehind) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  close(): void {
    if (this.#left.signal.aborted) return;
    this.#left.abort();
    this.#drained?.resolve();
    clearTimeout(this.#idleTimer);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const lane of this.#providerLanes.values()) lane.end();
    this.#memory.release();
    this.#options.onClose();
  }

  /** Ends the connection once no turn runs; those that wait are refused. */
  end(code: number, reason: string): void {
    this.#ending ??= { code, reason };
    this.#rest();
  }

  get #isIdle(): boolean {
    return this.#frames === 0 && this.#lanes.size === 0;
  }

  get #isBehind(): boolean {
    return (this.#socket?.getBufferedAmount() ?? 0) > unsentBytesMax;
  }

  /** Looks whether anything is to be done while no turn runs. */
  #rest(): void {
    if (!this.#isIdle || this.#left.signal.aborted) return;
    const { idleMs } = this.#options.lifetimes;
    if (this.#ending === undefined) {
      clearTimeout(this.#idleTimer);
      this.#idleTimer = setTimeout(
        () => this.end(closeCodes.goingAway, `The connection was idle for ${idleMs / 60_000} minutes`),
        idleMs,
      ).unref();
      return;
    }
    const { code, reason } = this.#ending;
    this.#send(JSON.stringify(limitReached(reason)));
    this.#leave(code, reason);
  }

  #leave(code: number, reason: string): void {
    this.#socket?.close(code, reason);
    // The `close` event of the platform comes only after the client has answered.
    this.close();
  }

  #after(ms: number, work: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms).unref();
    this.#timers.add(timer);
    return timer;
  }

  /** Reads a frame, and puts its turn into its lane. @throws {GatewayError} */
  async #read(frame: string | Buffer, reservation: MemoryReservation): Promise<void> {
    const { loadShedder, ledger } = this.#deps;
    const { caller } = this.#options;
    try {
      if (typeof frame !== "string") throw new GatewayError("invalid_request", "Frames are text: JSON of an event");
      if (frame.length > shortFrameMax) ledger.checkRequests(caller);
      const slot = loadShedder.takeSlot(caller.accountId);
      let event: unknown;
      try {
        event = await readJsonText(toWellFormedJson(frame), reservation);
      } finally {
        loadShedder.endRequest(slot);
      }
      if (!this.#take(event, { length: frame.length, reservation })) reservation.release();
    } catch (error) {
      reservation.release();
      throw error;
    }
  }

  /** @returns Whether it is a turn now, which has the reservation. */
  #take(event: unknown, frame: Pick<Turn, "length" | "reservation">): boolean {
    if (!isRecord(event)) throw new GatewayError("invalid_request", "A frame is an object with a type");
    const { type, stream: _, stream_id: stream, generate, ...body } = event;
    if (type === "response.steer") {
      this.#send(JSON.stringify(refuseSteering(event)));
      return false;
    }
    if (type !== "response.create") {
      const message = `The type ${quoteValue(type)} is no event of this connection, expected response.create`;
      throw new GatewayError("invalid_request", message, { param: "type" });
    }
    const id = readLane(stream);
    const inLane = (reason: unknown) => this.#fail(reason, id);
    try {
      const lane = this.#laneOf(id);
      const turn = { ...frame, lane: id, body: Object.assign(body, { stream: true }), generates: generate !== false };
      lane.waiting++;
      lane.last = lane.last.then(() => this.#runNext(lane, turn)).catch(inLane);
      return true;
    } catch (error) {
      void inLane(error);
      return false;
    }
  }

  /** @throws {GatewayError} `rate_limit_exceeded` when there are too many lanes or turns. */
  #laneOf(id: string | undefined): Lane {
    const lane = this.#lanes.get(id) ?? { id, waiting: 0, last: Promise.resolve() };
    if (lane.waiting > waitingMax) {
      const message = `${waitingMax} turns are waiting in this lane, its limit; send the turn again when one of them has ended`;
      throw new GatewayError("rate_limit_exceeded", message, { retryAfterMs: 1000 });
    }
    if (!this.#lanes.has(id) && this.#lanes.size >= lanesMax) {
      const message = `Turns run in ${lanesMax} lanes, the limit of a connection; use another connection, or a stream_id of these`;
      throw new GatewayError("rate_limit_exceeded", message, { param: "stream_id", retryAfterMs: 1000 });
    }
    this.#lanes.set(id, lane);
    return lane;
  }

  async #runNext(lane: Lane, turn: TurnOfFrame): Promise<void> {
    try {
      if (this.#left.signal.aborted) return;
      if (this.#ending !== undefined) {
        this.#send(JSON.stringify(limitReached(this.#ending.reason)), lane.id);
        return;
      }
      await this.#run(turn);
    } finally {
      turn.reservation.release();
      lane.waiting--;
      if (lane.waiting === 0) this.#lanes.delete(lane.id);
      this.#rest();
    }
  }

  /** The provider's side of a lane. That of a lane without turns makes room for another. */
  #providerLaneOf(id: string | undefined): ProviderLane | undefined {
    const { config, kernel, memory } = this.#deps;
    if (config.providerWebSockets === "off") return undefined;
    const present = this.#providerLanes.get(id);
    if (present !== undefined) return present;
    for (const [other, lane] of this.#providerLanes) {
      if (this.#providerLanes.size < lanesMax) break;
      if (this.#lanes.has(other)) continue;
      lane.end();
      this.#providerLanes.delete(other);
    }
    const { accountId } = this.#options.caller;
    const lane = kernel.network.lanes.open(accountId, crypto.randomUUID(), memory.reserve(accountId));
    this.#providerLanes.set(id, lane);
    return lane;
  }

  async #run(frame: TurnOfFrame): Promise<void> {
    const { handshake, address, run } = this.#options;
    const providerLane = this.#providerLaneOf(frame.lane);
    const turn: Turn = { ...frame, address, memory: this.#memory, providerLane, sentLength: 0 };
    const request = createTurnRequest(handshake, frame.body, this.#left.signal);
    const response = await run(request, turn);
    if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
      this.#send(JSON.stringify(await toErrorEvent(response)), turn.lane);
      return;
    }
    const parser = new SseParser(eventCharactersMax);
    const pass = (events: readonly { readonly data: string }[]) => {
      for (const { data } of events) {
        turn.sentLength += data.length;
        this.#send(data, turn.lane);
      }
    };
    for await (const piece of response.body ?? []) {
      this.#socket?.cork(() => pass(parser.push(piece)));
      if (this.#isBehind) await this.#readByClient();
      if (this.#left.signal.aborted) return;
    }
    pass(parser.end());
  }

  /** Tells the client what it did wrong, or what went wrong here. */
  async #fail(error: unknown, lane?: string): Promise<void> {
    const response = await errorResponse(this.#deps, error, {
      request: this.#options.handshake,
      inbound: responsesInbound,
    });
    this.#send(JSON.stringify(await toErrorEvent(response)), lane);
  }

  #send(event: string, lane?: string): void {
    if (this.#left.signal.aborted) return;
    const text = lane === undefined ? event : `{"stream_id":${JSON.stringify(lane)},${event.slice(1)}`;
    // 0: it was dropped.
    if (this.#socket?.send(text) === 0) this.#leave(closeCodes.policy, "The client does not read");
  }

  /** Waits until the client has taken what was sent. */
  async #readByClient(): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    const timer = this.#after(this.#options.lifetimes.unreadMs, () => {
      this.#leave(closeCodes.policy, "The client does not read");
    });
    await this.#drained.promise;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

type TurnOfFrame = Omit<Turn, "address" | "memory" | "providerLane" | "sentLength" | "earlierBytes"> & {
  readonly body: Record<string, unknown>;
};

/** @throws {GatewayError} `invalid_request` */
function readLane(stream: unknown): string | undefined {
  if (stream === undefined || stream === null) return undefined;
  if (typeof stream === "string" && laneForm.test(stream)) return stream;
  throw new GatewayError("invalid_request", "stream_id has 1 to 64 printable ASCII characters", { param: "stream_id" });
}

/** Steering is only possible where a provider has such a connection of its own. */
function refuseSteering({ previous_response_id: id, input }: Record<string, unknown>) {
  return {
    type: "response.steer.failed",
    sequence_number: 0,
    steer: { previous_response_id: id ?? null, input: input ?? [] },
    error: {
      type: "invalid_request_error",
      code: "steering_not_supported",
      message: "This response cannot be steered; send the input with the next response.create",
    },
  };
}

/** The words that let clients open another connection and send their turn again. */
function limitReached(reason: string) {
  const message = `${reason}; open another connection and send the turn again`;
  const code = "websocket_connection_limit_reached";
  return { type: "error", status: 400, error: { type: "invalid_request_error", code, message, param: null } };
}

const toldHeaders = /^(retry-after|x-request-id|x-should-retry|x-ratelimit-.*|x-modelgate-.*)$/;

/** A response with an error as an event. */
async function toErrorEvent(response: Response) {
  const { error } = (await response.json()) as { error: { code?: unknown } };
  // Codex sends the whole conversation after a 404 of this code, and gives up after a 400.
  const status = error.code === "previous_response_not_found" ? 404 : response.status;
  const headers = Object.fromEntries([...response.headers].filter(([name]) => toldHeaders.test(name)));
  return { type: "error", status, error, headers };
}
