import { setTimeout } from "node:timers";
import { type Caller, GatewayError, quoteValue, sumOutputTokens } from "../../contract/index.ts";
import type { ProviderLane } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import { SseParser } from "../../lib/sse.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import type { ResponseItem } from "../../protocols/responses/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { errorResponse } from "../lifecycle/errors.ts";
import { readJsonText, toWellFormedJson } from "../lifecycle/read-body.ts";
import type { MemoryReservation } from "../memory/call-memory.ts";
import { ConversationMemory } from "./conversation-memory.ts";
import { continueSteered, createTurnRequest, type Turn } from "./turn.ts";

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
  /** The turn that runs. */
  running?: RunningTurn | undefined;
  /** The end of the last turn that follows one which it steers, and whether that one still runs. */
  steering?: Promise<void> | undefined;
  isSteered?: boolean;
}

interface RunningTurn {
  readonly turn: Turn;
  /** Resolves once it was sent. */
  readonly ended: Promise<void>;
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
    if (type === "response.steer") return this.#steer(event, frame);
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
      // The provider begins the response to what steers before another.
      while (lane.steering !== undefined) await lane.steering;
      if (this.#left.signal.aborted) return;
      if (this.#ending !== undefined) {
        this.#send(JSON.stringify(limitReached(this.#ending.reason)), lane.id);
        return;
      }
      await this.#run(lane, turn);
    } finally {
      this.#endTurn(lane, turn);
    }
  }

  #endTurn(lane: Lane, { reservation }: Pick<Turn, "reservation">): void {
    reservation.release();
    lane.waiting--;
    if (lane.waiting === 0) this.#lanes.delete(lane.id);
    this.#rest();
  }

  /** Steers the turn that answers with a response. @returns Whether it is a turn now, which has the reservation. */
  #steer(event: Record<string, unknown>, frame: Pick<Turn, "length" | "reservation">): boolean {
    const { previous_response_id: id, idempotency_key: key } = event;
    const lane = this.#laneWith(id);
    const input = toSteeringItems(event.input);
    const refusal = this.#refusalOf(lane, input);
    if (refusal !== undefined || lane?.running === undefined) {
      this.#send(JSON.stringify(steeringFailed(event, refusal ?? notSupported)), lane?.id);
      return false;
    }
    const { turn: steered, ended } = lane.running;
    const { id: laneId } = lane;
    const state: SteeringState = {};
    const run = steered.call?.execution?.run;
    const answerTokensMax = sumOutputTokens(run?.bounds.upper ?? {});
    if (answerTokensMax === undefined) {
      this.#send(JSON.stringify(steeringFailed(event, notSupported)), laneId);
      return false;
    }
    const steers: Turn["steers"] = {
      responseId: id as string,
      input,
      turn: steered,
      ended,
      answerTokensMax,
      // Where they were not counted it can be all of them.
      answerTokens: () => sumOutputTokens(run?.outcome.meters ?? {}) ?? answerTokensMax,
      onWord: (kind, text) => {
        if (kind === "accepted") this.#send(text, laneId);
        else state.end = { kind, text };
      },
      onBegun: () => {
        lane.isSteered = false;
      },
    };
    const body = {
      ...(steered.body as Record<string, unknown>),
      previous_response_id: id,
      input: [...toItems((steered.body as Record<string, unknown>).input), ...input],
      // Its provider keeps to the limit that the running turn was sent.
      max_output_tokens: answerTokensMax,
      ...(key !== undefined && { idempotency_key: key }),
    };
    const { address, memory, providerLane } = steered;
    const turn: Turn = {
      ...frame,
      lane: laneId,
      body,
      generates: true,
      address,
      memory,
      providerLane,
      sentLength: 0,
      steers,
    };
    lane.waiting++;
    lane.isSteered = true;
    const following: Promise<void> = this.#runSteering(lane, { turn, body, event, state })
      .catch((error) => this.#fail(error, laneId))
      .finally(() => {
        if (lane.steering === following) lane.steering = undefined;
        this.#endTurn(lane, turn);
      });
    lane.steering = following;
    return true;
  }

  #laneWith(responseId: unknown): Lane | undefined {
    if (typeof responseId !== "string") return undefined;
    for (const lane of this.#lanes.values())
      if (lane.running?.turn.providerLane?.runs(responseId) === true) return lane;
    return undefined;
  }

  #refusalOf(lane: Lane | undefined, input: readonly ResponseItem[]): SteeringError | undefined {
    if (lane?.running?.turn.call === undefined) return notSupported;
    if (this.#ending !== undefined) return { code: "response_not_active", message: this.#ending.reason };
    if (lane.isSteered === true) return tooManySteers;
    return input.length === 0 ? invalidInput : undefined;
  }

  /** Runs the turn that the provider begins by itself, after the one that is steered. */
  async #runSteering(lane: Lane, { turn, body, event, state }: SteeringTurn): Promise<void> {
    const { handshake, run } = this.#options;
    const { steers } = turn;
    if (steers === undefined) return;
    try {
      const response = await run(createTurnRequest(handshake, body, this.#left.signal), turn);
      if (isEventStream(response)) {
        const end = Promise.withResolvers<void>();
        lane.running = { turn, ended: end.promise };
        try {
          await steers.ended;
          continueSteered(turn);
          await this.#relay(response, turn);
        } finally {
          end.resolve();
        }
        return;
      }
      const { error } = await toErrorEvent(response);
      if (state.end?.kind === "pending") await this.#keepQueued(turn, { event, text: state.end.text });
      else this.#send(state.end?.text ?? JSON.stringify(steeringFailed(event, error as SteeringError)), lane.id);
    } finally {
      // One that was not begun.
      if (lane.running?.turn !== turn) lane.isSteered = false;
    }
  }

  /** The provider keeps the input for the next turn, which is admitted with it. */
  async #keepQueued(
    { steers, length, lane, providerLane }: Turn,
    { event, text }: Pick<SteeringTurn, "event"> & { text: string },
  ) {
    if (steers === undefined) return;
    await steers.ended;
    try {
      this.#memory.queue(steers.responseId, steers.input as ResponseItem[], length);
      this.#send(text, lane);
    } catch {
      // The provider must not keep input that no hold covers.
      providerLane?.reset();
      this.#send(JSON.stringify(steeringFailed(event, noRoom)), lane);
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

  async #run(lane: Lane, frame: TurnOfFrame): Promise<void> {
    const { handshake, address, run } = this.#options;
    const { body } = frame;
    const queued = this.#memory.queuedAfter(body.previous_response_id);
    if (queued.length > 0) body.input = [...queued, ...toItems(body.input)];
    const providerLane = this.#providerLaneOf(frame.lane);
    const turn: Turn = { ...frame, address, memory: this.#memory, providerLane, sentLength: 0 };
    const ended = Promise.withResolvers<void>();
    lane.running = { turn, ended: ended.promise };
    try {
      const response = await run(createTurnRequest(handshake, body, this.#left.signal), turn);
      if (isEventStream(response)) await this.#relay(response, turn);
      else this.#send(JSON.stringify(await toErrorEvent(response)), turn.lane);
    } finally {
      ended.resolve();
      if (lane.running.turn === turn) lane.running = undefined;
    }
  }

  /** Sends the events of an answer. */
  async #relay(response: Response, turn: Turn): Promise<void> {
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

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** A turn that follows one which it steers, and the event that asked for it. */
interface SteeringTurn {
  readonly turn: Turn;
  readonly body: Record<string, unknown>;
  readonly event: Record<string, unknown>;
  readonly state: SteeringState;
}

interface SteeringState {
  /** The provider's word, in place of a response. */
  end?: { readonly kind: "failed" | "pending"; readonly text: string };
}

interface SteeringError {
  readonly code: string;
  readonly message: string;
}

/** Steering is only possible where a provider has such a connection of its own. */
const notSupported: SteeringError = {
  code: "steering_not_supported",
  message: "This response cannot be steered; send the input with the next response.create",
};
const tooManySteers: SteeringError = {
  code: "too_many_pending_steers",
  message: "The response has input already that waits, its limit; send this one when the next response has begun",
};
const invalidInput: SteeringError = {
  code: "invalid_input",
  message: "input is a text, or a list of messages of the user with type, role and content",
};
const noRoom: SteeringError = {
  code: "successor_creation_failed",
  message: "There is no memory left to keep the input for the next turn; send it with that",
};

/** The input goes back to the client. */
function steeringFailed(
  { previous_response_id: id, input }: Record<string, unknown>,
  { code, message }: SteeringError,
) {
  return {
    type: "response.steer.failed",
    sequence_number: 0,
    steer: { previous_response_id: id ?? null, input: input ?? [] },
    error: { type: "invalid_request_error", code, message },
  };
}

/** Empty for what is no input of a user. */
function toSteeringItems(input: unknown): readonly ResponseItem[] {
  const items = toItems(input);
  const isOfUser = (item: unknown) =>
    isRecord(item) && (item.type ?? "message") === "message" && item.role === "user" && Boolean(item.content);
  return items.every(isOfUser)
    ? (items.map((item) => ({ type: "message", ...(item as object) })) as ResponseItem[])
    : [];
}

function toItems(input: unknown): readonly unknown[] {
  if (typeof input === "string") return input === "" ? [] : [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
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
