/**
 * The network as a plugin sees it: `upstream`, bound to one attempt. Each request is checked, authorized, sent, and
 * recorded as owed as soon as the provider may have it. Its answer is read within bounds of time, size and memory.
 */
import { Buffer } from "node:buffer";
import { GatewayError, mediaTypeOf, UpstreamError, type UpstreamErrorKind } from "../../contract/index.ts";
import { EventStreamParser } from "../../lib/aws-event-stream.ts";
import { toBase64 } from "../../lib/base64.ts";
import {
  isRecord,
  JsonBoundsError,
  type JsonSource,
  parseJson,
  readJson,
  readJsonInTurns,
  toJsonText,
} from "../../lib/json.ts";
import { forgetKept } from "../../lib/kept-with.ts";
import { nextTurn } from "../../lib/next-turn.ts";
import { isEndMark, SseParser } from "../../lib/sse.ts";
import {
  opcodes,
  type WebSocketClose,
  WebSocketParser,
  writeClose,
  writeFrame,
  writeMessage,
} from "../../lib/web-socket.ts";
import {
  type AnswerUsage,
  type AuthorizedRequest,
  getForm,
  type HttpMethod,
  isFailedFinish,
  type MachineRequest,
  type ProviderCredential,
  type ProviderPlugin,
  type ServerEvent,
  type SocketTurns,
  type TokenResponse,
  type Upstream,
  type UpstreamBytes,
  type UpstreamRequestOptions,
  type UpstreamWebSocket,
  type WebSocketMessage,
  type WebSocketOptions,
} from "../../provider/index.ts";
import { TextSample } from "../normalize/tokenizer.ts";
import type { PoolKey } from "../routing/circuits.ts";
import type { Route } from "../routing/registry.ts";
import { type BatchReader, readsBatches } from "../streaming.ts";
import {
  type BegunBody,
  beginBody,
  formOf,
  hasContent,
  isAnswerForm,
  OtherFormError,
  RecordedEvents,
} from "./answer-form.ts";
import { containsText, type Download, downloadPublic } from "./download.ts";
import {
  type BodyLimits,
  BodyReader,
  ConnectionError,
  cancelBody,
  createHeaders,
  LongAnswerError,
  readAnswerText,
  readTextStart,
  responseTooLongError,
} from "./http-client.ts";
import { type FetchedFile, refuseFormAddresses, withFilesFor } from "./media-addresses.ts";
import { getSilenceMs, type Network } from "./network.ts";
import type { KeptSocket, ProviderLane, SocketPlace } from "./provider-lanes.ts";
import { getBaseUrl, tokenBytesMax, tokenMsMax } from "./ssrf-guard.ts";
import { notSteered, type Steering } from "./steering.ts";
import { TurnBySocket, type TurnBySocketOptions } from "./turn-by-socket.ts";
import { fetchCopies, Slices, sliceBytes, socketCopies } from "./turns.ts";
import type { WebSocketConnection } from "./web-socket.ts";

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

/** How much of an error response is read. */
const refusalBytesMax = 65_536;
/** A whole answer is in memory as it arrived and as its values; its text, here and for the caller, only for a moment. */
const answerCopies = 2;
/** Values that take no more beyond that are not counted. */
const valueBytesMin = 65_536;

/** Sender of an upstream request: an attempt at a route. */
export interface Sender {
  /** The account whose turn of the event loop it is to work on the answer. */
  readonly owner: string;
  readonly route: Route;
  readonly key: Pick<PoolKey, "credential"> | undefined;
  /** Aborted when the attempt ends. Every request carries it. */
  readonly signal: AbortSignal;
  /** The client's request: it may name files to download. */
  readonly request: unknown;
  /** Why its call was ended by the gateway; absent while it goes on. */
  readonly cancelReason: string | undefined;
  /** Whether the request takes so long to walk through that each walk gets a turn of the event loop of its own. */
  readonly isLarge: boolean;
  /** Whether a whole answer may be a long list, which decides the bounds of its JSON. */
  readonly answerSource: Extract<JsonSource, "answer" | "longAnswer">;
  /** Holds all that the answer can be; undefined where that is held already. @throws {GatewayError} When that is not left. */
  coverAll(): Promise<void> | undefined;
  /** Keeps a WebSocket to the provider between turns; absent: the client sends none. */
  readonly providerLane?: ProviderLane | undefined;
  /** Present for a call that follows a response which it steers: nothing else of it is sent. */
  readonly steering?: Steering | undefined;
  /** It opened a WebSocket, which stays open until the signal is aborted unless its plugin closes it. */
  hasSocket: boolean;
  /** A request is about to be sent. */
  onSent(request: SentRequest, nowMs: number): void;
  /** The provider has not received it, or has refused it: it is not owed. */
  onRefused(request: SentRequest): void;
  /** The provider was silent for too long. */
  onSilence(): void;
  /** Counts memory until the call ends. @throws {GatewayError} When there is no room. */
  reserve(bytes: number): void;
  /** Counts memory of the answer until it was sent; fewer bytes than 0 are freed. @throws {GatewayError} When there is no room. */
  reserveAnswer(bytes: number): void;
}

/** The upstream of one attempt: one route, one of its keys. */
export class BoundUpstream implements Upstream {
  readonly #network: Network;
  readonly #route: Route;
  readonly #credential: ProviderCredential | undefined;
  readonly baseUrl: string;
  readonly #sender: Sender;
  /** Signal of this attempt: a handler that continues after the attempt has ended can send nothing. */
  readonly #signal: AbortSignal;
  #timedOut = false;
  #wasAsked = false;
  #wasSent = false;
  readonly #sent: SentRequest[] = [];
  /** The answers of the provider so far: they may name files to download. */
  readonly #answers: unknown[] = [];

  constructor(network: Network, sender: Sender) {
    this.#network = network;
    this.#sender = sender;
    this.#route = sender.route;
    this.#credential = sender.key?.credential;
    this.baseUrl = getBaseUrl(this.#route, this.#credential);
    this.#signal = sender.signal;
  }

  /** Whether a request was made for the provider, so a later failure can be an error of the provider. */
  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  /** Whether the provider may have received a request. */
  get wasSent(): boolean {
    return this.#wasSent;
  }

  /** Whether the provider served a request: it is not sent again, because it is paid for. */
  get hasServed(): boolean {
    return this.#sent.some(({ isAnswered }) => isAnswered);
  }

  /**
   * Takes back the requests whose answers came to their end with neither content nor a report: they are refusals, that cost
   * nothing and may be sent again. Called when the attempt failed.
   */
  refuseEmpty(): void {
    for (const request of this.#sent.filter(({ isEmpty }) => isEmpty)) {
      request.isAnswered = false;
      this.#takeBack(request);
    }
  }

  /** A request costs nothing and may be sent again. */
  #takeBack(request: SentRequest): void {
    const index = this.#sent.indexOf(request);
    if (index < 0) return;
    this.#sent.splice(index, 1);
    this.#sender.onRefused(request);
    this.#wasSent = this.#sent.length > 0;
  }

  async json<T>(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<T> {
    const reservation = this.#holdAll();
    if (reservation !== undefined) await reservation;
    const rest = this.#rest();
    if (rest !== undefined) await rest;
    const [response, sentRequest] = await this.#sendJson(path, body, init);
    return this.#parse(await this.#readText(response, sentRequest), response, sentRequest) as T;
  }

  async form<T>(path: string, form: FormData | Blob, init?: UpstreamRequestOptions): Promise<T> {
    const reservation = this.#holdAll();
    if (reservation !== undefined) await reservation;
    if (form instanceof FormData && (await this.isOwnServer())) refuseFormAddresses(form);
    const [response, sentRequest] = await this.#send(path, form, init);
    return this.#parse(await this.#readText(response, sentRequest), response, sentRequest) as T;
  }

  async bytes(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<UpstreamBytes> {
    const reservation = this.#holdAll();
    if (reservation !== undefined) await reservation;
    const rest = this.#rest();
    if (rest !== undefined) await rest;
    const [response, sentRequest] = await this.#sendJson(path, body, init);
    const { streamBytesMax } = this.#network.bounds;
    return {
      mediaType: mediaTypeOf(response.headers.get("content-type")) ?? "",
      chunks: new UpstreamItems<Uint8Array<ArrayBuffer>>({
        body: new BodyReader(response, this.#limits(streamBytesMax)),
        parser: { push: (bytes) => [bytes], end: () => [] },
        ...this.#sharing(),
        onTake: (bytes) => sentRequest.readBytes(bytes),
        onEnd: () => this.#onEnd(sentRequest),
      }),
    };
  }

  async events(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<AsyncIterable<ServerEvent>> {
    const rest = this.#rest();
    if (rest !== undefined) await rest;
    const { providerLane: lane, steering } = this.#sender;
    if (steering !== undefined && init?.socketTurns !== undefined && lane !== undefined && isRecord(body)) {
      return await this.#steer(steering, lane, { path, body, turns: init.socketTurns });
    }
    if (init?.socketTurns !== undefined && lane !== undefined && isRecord(body)) {
      const answer = await this.#askInLane(lane, { path, body, turns: init.socketTurns });
      if (answer !== undefined) return answer;
    }
    const [response, sentRequest] = await this.#sendJson(path, body, init);
    const { streamBytesMax, answerBytesMax } = this.#network.bounds;
    const { form, body: begun } = await beginBody(new BodyReader(response, this.#limits(streamBytesMax)));
    const mediaType = mediaTypeOf(response.headers.get("content-type")) ?? "";
    if (form === "json") return await this.#readWholeStream(begun, response, sentRequest);
    const isLabelled = mediaType === "" || mediaType === "text/event-stream" || mediaType === "application/json";
    if ((form === "page" || form === "text") && !isLabelled) {
      begun.cancel();
      sentRequest.isPage = true;
      throw new UpstreamError("bad_response", `The provider answered with ${mediaType}, expected an event stream`);
    }
    const reserve = (bytes: number) => this.#reserveAnswer(bytes);
    return new UpstreamItems<ServerEvent>({
      body: begun,
      parser: form === "binary" ? new EventStreamParser() : new SseParser(answerBytesMax, reserve),
      ...this.#sharing(),
      onTake: (event) => sentRequest.readEvent(event),
      onEnd: () => this.#onEnd(sentRequest),
    });
  }

  /** Sends a turn by the WebSocket of a lane. `undefined`: the turn has to go by POST. */
  async #askInLane(lane: ProviderLane, asked: AskedTurn): Promise<AsyncIterable<ServerEvent> | undefined> {
    const place = { plugin: this.#route.plugin.name, url: this.baseUrl + asked.path, credential: this.#credential };
    for (let count = 0; count < socketAsksMax; count++) {
      const present = lane.take(place);
      const socket = present ?? (await this.#openInLane(lane, place, asked));
      if (socket === undefined) return undefined;
      const answer = await this.#askBySocket(socket, asked, present !== undefined);
      if (answer === "nothing") lane.pause(place);
      if (answer !== "again") return answer === "nothing" ? undefined : answer;
    }
    return undefined;
  }

  /**
   * Passes on the input that steers a response, and waits for the response that follows.
   *
   * @throws {GatewayError} Where none follows. It costs nothing.
   */
  async #steer(
    steering: Steering,
    lane: ProviderLane,
    { path, body, turns }: AskedTurn,
  ): Promise<AsyncIterable<ServerEvent>> {
    const place = { plugin: this.#route.plugin.name, url: this.baseUrl + path, credential: this.#credential };
    const frame = turns.toSteering(steering.responseId, steering.input);
    const text = await this.#toText(frame);
    const socket = lane.takeRunning(place, steering.responseId);
    if (socket === undefined || socket.waiting !== undefined || this.#wasAsked) {
      throw notSteered("response_not_active", "The response has ended, or does not run by a WebSocket to its provider");
    }
    const { request, turn, answer } = this.#openTurn(socket, turns, {
      steering,
      toTurn: (last, items, refusal) => {
        const { before } = socket;
        const input = before && [...before.items, ...steering.input];
        const steered = { ...body, model: before?.model, input };
        const answered = before && (refusal === undefined ? turns.toTurn(steered, last, items) : before);
        // The provider reads it before the input of the next turn.
        const turn = refusal === "pending" && before && input ? { ...before, items: input } : answered;
        return { turn, continues: true, frameLength: refusal === "failed" ? 0 : text.length };
      },
    });
    this.#wasAsked = true;
    this.#sender.onSent(request, this.#network.now());
    this.#sent.push(request);
    let failure: unknown;
    try {
      await turn.send(text);
      await turn.whenBegun();
      if (turn.steeringEnd === undefined) await answer.readFirst();
    } catch (error) {
      failure = error;
    }
    if (turn.responseId !== undefined) {
      request.hasBegun = true;
      this.#wasSent = true;
      if (failure !== undefined) throw failure;
      return answer;
    }
    answer.cancel();
    if (failure !== undefined && (this.#signal.aborted || this.#timedOut || !(failure instanceof ConnectionError))) {
      throw failure;
    }
    if (turn.refusal !== undefined) {
      socket.forget();
      const { status, headers } = turn.refusal;
      throw await this.#readRefusal(new Response(turn.refusalText, { status, headers }));
    }
    throw turn.steeringEnd === "pending"
      ? notSteered("steering_pending", "The response waits for results of tools: the input goes with the next turn")
      : notSteered("successor_creation_failed", "The provider has begun no response with this input");
  }

  /** The text of a frame, with the files for a server of the operator's own. */
  async #toText(frame: Record<string, unknown>): Promise<string> {
    const isOwn = await this.isOwnServer();
    const text = toJsonText(isOwn ? await withFilesFor(frame, (url, param) => this.#fetchFile(url, param)) : frame);
    if (this.#signal.aborted) throw this.#toUpstreamError(this.#signal.reason);
    return text;
  }

  /** A turn of a socket, its request and its answer. */
  #openTurn(
    socket: KeptSocket,
    turns: SocketTurns,
    { steering, toTurn }: Pick<TurnBySocketOptions, "steering" | "toTurn">,
  ) {
    const request = new SentRequest(this.#route.plugin.readUsage);
    const turn = new TurnBySocket(socket, {
      ...this.#limits(this.#network.bounds.streamBytesMax),
      firstMsMax: this.#silenceMsMax(this.#network.bounds.firstByteMsMax),
      signal: this.#signal,
      steering,
      reserve: (bytes) => this.#reserveAnswer(bytes),
      read: (message) => turns.read(message),
      // Input that steers nothing costs nothing; any other turn may have been begun without a word.
      onUnbegun: steering && (() => this.#takeBack(request)),
      toTurn,
    });
    const answer = new UpstreamItems<ServerEvent>({
      body: turn,
      parser: turn,
      ...this.#sharing(socketCopies),
      onTake: (event) => request.readEvent(event),
      onEnd: () => this.#onEnd(request),
    });
    return { request, turn, answer };
  }

  /** Whatever refuses the handshake, the POST that follows is answered with the reason. */
  async #openInLane(
    lane: ProviderLane,
    place: SocketPlace,
    { path, turns }: AskedTurn,
  ): Promise<KeptSocket | undefined> {
    if (!lane.mayOpen(place)) return undefined;
    const { guard, openWebSocket, timeouts, now } = this.#network;
    const { length } = this.#sent;
    const ended = new AbortController();
    const abort = () => ended.abort();
    this.#signal.addEventListener("abort", abort);
    const timeout = timeouts.schedule(now() + handshakeMsMax, abort);
    const send = ({ route, baseUrl, path, headers }: PreparedRequest) => {
      const url = new URL(baseUrl + path);
      const findAddresses = () => guard.findAddresses(route, url);
      return openWebSocket({ url, headers, protocols: [], signal: ended.signal, findAddresses });
    };
    try {
      const init: UpstreamRequestOptions = { method: "GET", headers: { ...turns.headers } };
      const [connection] = await this.#sendBy(send, path, undefined, init);
      if (!(connection instanceof Response)) return lane.keep(connection, place);
      cancelBody(connection);
    } catch (error) {
      if (this.#signal.aborted) throw error;
    } finally {
      timeouts.cancel(timeout);
      this.#signal.removeEventListener("abort", abort);
      // A handshake costs nothing.
      for (const request of this.#sent.slice(length)) this.#takeBack(request);
    }
    lane.pause(place);
    return undefined;
  }

  /**
   * Asks by a socket and waits for the first event.
   *
   * @returns `again`: no part of an answer came, and another socket, or the whole conversation, may get one. `nothing`: a new
   *   socket was closed in place of an answer.
   * @throws {UpstreamError} The refusal, or why no answer came from a provider that may be working on it.
   */
  async #askBySocket(
    socket: KeptSocket,
    { body, turns }: AskedTurn,
    isKept: boolean,
  ): Promise<AsyncIterable<ServerEvent> | "again" | "nothing"> {
    const { frame, continues } = turns.toFrame(body, socket.before);
    const text = await this.#toText(frame);
    // It was closed while the files were fetched.
    if (socket.isClosed) return "again";
    const { request, turn, answer } = this.#openTurn(socket, turns, {
      toTurn: (last, items) => ({ turn: turns.toTurn(body, last, items), continues, frameLength: text.length }),
    });
    this.#wasAsked = true;
    this.#wasSent = true;
    this.#sender.onSent(request, this.#network.now());
    this.#sent.push(request);
    try {
      await turn.send(text);
      await answer.readFirst();
    } catch (error) {
      const isCut = this.#signal.aborted || this.#timedOut || !(error instanceof ConnectionError);
      // A new socket that broke off may have brought the request to its provider; a kept one had died earlier.
      if (isCut || (!isKept && socket.closedBy === undefined)) throw error;
      this.#takeBack(request);
      return isKept ? "again" : "nothing";
    }
    request.hasBegun = true;
    const { refusal } = turn;
    if (refusal === undefined) return answer;
    answer.cancel();
    this.#takeBack(request);
    if (refusal.reason === "ended") socket.close();
    else socket.forget();
    if (refusal.reason === "ended" || (refusal.reason === "forgotten" && continues)) return "again";
    const { status, headers } = refusal;
    throw await this.#readRefusal(new Response(turn.refusalText, { status, headers }));
  }

  /**
   * Reads a JSON answer that came although a stream was requested: a list or lines of the events, or an error.
   *
   * @throws {OtherFormError} When it is a whole answer.
   */
  async #readWholeStream(
    body: BegunBody["body"],
    response: Response,
    request: SentRequest,
  ): Promise<AsyncIterable<ServerEvent>> {
    const text = await this.#readRest(body, request);
    let events: readonly ServerEvent[];
    try {
      const { answerSource } = this.#sender;
      const value: unknown = await readJsonInTurns(text, answerSource, (bytes) => this.#reserveValues(bytes, text));
      if (Array.isArray(value) && value.every(isRecord))
        events = value.map((item) => ({ event: "message", data: JSON.stringify(item) }));
      else if (isError(value)) events = [{ event: "raw", data: text }];
      else {
        this.#takeAnswer(value, request);
        throw new OtherFormError({ whole: value });
      }
    } catch (cause) {
      if (cause instanceof OtherFormError || cause instanceof LongAnswerError) throw cause;
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      const areEvents = lines.length > 1 && lines.every((line) => line.trimStart().startsWith("{"));
      if (!areEvents || !(cause instanceof SyntaxError)) throw toUnreadable(cause, text, response, request);
      events = lines.map((data) => ({ event: "message", data }));
    }
    for (const event of events) request.readEvent(event);
    request.isWhole = true;
    return new RecordedEvents(events);
  }

  async #readRest(body: BegunBody["body"], request: SentRequest): Promise<string> {
    const { answerBytesMax } = this.#network.bounds;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    try {
      for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
        pieces.push(piece);
        bytes += piece.byteLength;
        if (bytes > answerBytesMax) throw responseTooLongError(answerBytesMax);
        this.#reserveAnswer(answerCopies * piece.byteLength);
      }
    } catch (error) {
      body.cancel();
      request.readCut(pieces, bytes);
      throw error;
    }
    return new Blob(pieces).text();
  }

  async webSocket(path: string, options: WebSocketOptions = {}): Promise<UpstreamWebSocket> {
    const reservation = this.#holdAll();
    if (reservation !== undefined) await reservation;
    const rest = this.#rest();
    if (rest !== undefined) await rest;
    const { headers, protocols = [], isAnswer } = options;
    const init: UpstreamRequestOptions = { method: "GET", ...(headers !== undefined && { headers }) };
    const { guard, openWebSocket } = this.#network;
    const send = ({ route, baseUrl, path, headers }: PreparedRequest) => {
      const url = new URL(baseUrl + path);
      const findAddresses = () => guard.findAddresses(route, url);
      return openWebSocket({ url, headers, protocols, signal: this.#signal, findAddresses });
    };
    const [connection, sentRequest] = await this.#sendBy(send, path.replace(/^ws(?=s?:)/, "http"), undefined, init);
    if (connection instanceof Response) {
      cancelBody(connection);
      const message = `The provider answered with status ${connection.status}, expected a WebSocket`;
      throw new UpstreamError("bad_response", message, { status: connection.status });
    }
    this.#sender.hasSocket = true;
    const body = new BodyReader(new Response(connection.frames), this.#limits(this.#network.bounds.streamBytesMax));
    return new UpstreamSocket({
      connection,
      body,
      reserve: (bytes) => this.#sender.reserveAnswer(bytes),
      ...this.#sharing(socketCopies),
      onTake: (message) => {
        if (isAnswer === undefined || isAnswer(message)) takeMessage(sentRequest, message);
      },
      onEnd: () => this.#onEnd(sentRequest),
      onClose: (close) => {
        const error = toCloseError(close, (text) => this.#route.keys.hide(text).slice(0, saidCharactersMax));
        // Before anything of an answer it refuses the request.
        if (error !== undefined && !sentRequest.isAnswered) this.#sender.onRefused(sentRequest);
        return error;
      },
      onSend: () => this.#waitToSend(connection),
    });
  }

  /** Waits until the provider takes more of what is sent to it, as long as for a part of its answer. */
  async #waitToSend(connection: WebSocketConnection): Promise<void> {
    const { timeouts, now, bounds } = this.#network;
    const timeout = timeouts.schedule(now() + this.#silenceMsMax(bounds.idleMsMax), () => this.#timeout());
    await connection.whenWritable();
    timeouts.cancel(timeout);
    if (this.#signal.aborted) throw this.#toUpstreamError(this.#signal.reason);
  }

  /** Lets a streamed answer share the event loop and memory with other answers. */
  #sharing(copies = fetchCopies): Pick<UpstreamItemsOptions<unknown>, "takeTurn" | "slices"> {
    const takeTurn = () => this.#network.turns.take(this.#sender.owner);
    return { takeTurn, slices: new Slices(takeTurn, (bytes) => this.#reserveAnswer(bytes), copies) };
  }

  /** A reader that leaves early has read all that it needs, unless the gateway has ended the request. */
  #onEnd(request: SentRequest): void {
    if (!this.#signal.aborted && this.#sender.cancelReason === undefined) request.isWhole = true;
  }

  async download(url: string): Promise<Download> {
    // Only URLs from the caller or the provider: a plugin cannot leak data in a URL of its own.
    if (!containsText(this.#sender.request, url) && !this.#answers.some((answer) => containsText(answer, url))) {
      throw new TypeError("Cannot download a URL that is neither in the request nor in the provider's answer");
    }
    const reserve = (bytes: number) => this.#sender.reserve(bytes);
    return downloadPublic(this.#network.publicGet, url, this.#signal, reserve);
  }

  /** A large request was translated in this turn of the event loop. */
  #rest(): Promise<void> | undefined {
    return this.#sender.isLarge ? nextTurn() : undefined;
  }

  /**
   * Extends the hold to the most that the answer can be. Called before a request for a whole answer, which cannot be
   * stopped halfway, also if the client gets a stream.
   */
  #holdAll(): Promise<void> | undefined {
    return this.#sender.coverAll();
  }

  /** Sends JSON. A server of the operator's own gets files in place of addresses. */
  #sendJson(path: string, body: unknown, init: UpstreamRequestOptions | undefined): Promise<[Response, SentRequest]> {
    const isOwn = this.isOwnServer();
    if (isOwn === false) return this.#send(path, toText(body, init), init);
    return this.#sendToOwn(path, body, init, isOwn);
  }

  async #sendToOwn(
    path: string,
    body: unknown,
    init: UpstreamRequestOptions | undefined,
    isOwn: boolean | Promise<boolean>,
  ): Promise<[Response, SentRequest]> {
    const ownBody = (await isOwn) ? await withFilesFor(body, (url, param) => this.#fetchFile(url, param)) : body;
    return this.#send(path, toText(ownBody, init), init);
  }

  /** Whether the provider is a server of the operator's own, which may first have to be looked up. */
  isOwnServer(): boolean | Promise<boolean> {
    const { isBaseUrlGiven = false } = this.#route;
    return this.#network.guard.isOwnServer({ baseUrl: this.baseUrl, isBaseUrlGiven });
  }

  /** Whether the provider's plugin is for servers that people run themselves. */
  isForOwnServers(): boolean {
    return this.#network.guard.isForOwnServers(this.#route.plugin);
  }

  /** Fetches a file that the caller named. @throws {GatewayError} `invalid_request`, which names the field. */
  async #fetchFile(url: string, param: string): Promise<FetchedFile> {
    const reserve = (bytes: number) => this.#sender.reserve(bytes);
    try {
      const { bytes, mediaType } = await downloadPublic(this.#network.publicGet, url, this.#signal, reserve);
      const base64 = toBase64(bytes);
      reserve(base64.length);
      return { mediaType, base64 };
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause;
      throw new GatewayError(cause.code, cause.message, { param, cause, retryAfterMs: cause.retryAfterMs });
    }
  }

  #send(
    path: string,
    body: string | FormData | Blob | undefined,
    init: UpstreamRequestOptions | undefined,
  ): Promise<[Response, SentRequest]> {
    const { client } = this.#network;
    const send = (request: PreparedRequest) => client.request({ ...request, body, signal: this.#signal });
    return this.#sendBy(send, path, body, init);
  }

  async #sendBy<Answer>(
    send: (request: PreparedRequest) => Promise<Answer | Response>,
    path: string,
    body: string | FormData | Blob | undefined,
    init: UpstreamRequestOptions | undefined,
  ): Promise<[Answer | Response, SentRequest]> {
    if (this.#sender.steering !== undefined) {
      throw notSteered(
        "steering_not_supported",
        "This response cannot be steered: its policies or routes have changed",
      );
    }
    const { guard, timeouts, now, bounds } = this.#network;
    const isPath = path.charCodeAt(0) === 47;
    const route = this.#route.baseUrl === this.baseUrl ? this.#route : { ...this.#route, baseUrl: this.baseUrl };
    const checked = isPath ? guard.check(route) : guard.checkUrl(route, path);
    // Awaited below; avoids an unhandled rejection in the meantime.
    checked?.catch(() => undefined);
    const target = isPath ? { baseUrl: this.baseUrl, path } : splitUrl(path);
    const method = init?.method ?? "POST";
    const authorized = this.#authorize(method, target.baseUrl + target.path, body, init);
    const headers = authorized instanceof Promise ? await authorized : authorized;
    if (this.#signal.aborted) throw this.#toUpstreamError(this.#signal.reason);
    const { plugin } = route;
    const timeout = timeouts.schedule(now() + this.#silenceMsMax(bounds.firstByteMsMax), () => this.#timeout());
    this.#wasAsked = true;
    let response: Answer | Response;
    const sentRequest = new SentRequest(plugin.readUsage);
    try {
      if (checked !== undefined) await checked;
      this.#sender.onSent(sentRequest, now());
      this.#sent.push(sentRequest);
      response = await send({ ...target, route, method, headers });
      sentRequest.hasBegun = true;
      this.#wasSent = true;
    } catch (error) {
      const isUnsent = error instanceof UpstreamError && !(error instanceof ConnectionError && error.wasSent);
      if (!isUnsent) this.#wasSent = true;
      else this.#sender.onRefused(sentRequest);
      throw this.#toUpstreamError(error);
    } finally {
      timeouts.cancel(timeout);
    }
    if (response instanceof Response && (response.status < 200 || response.status > 299)) {
      this.#sender.onRefused(sentRequest);
      throw await this.#readRefusal(response);
    }
    return [response, sentRequest];
  }

  /** The headers of a request. Without an asynchronous `authorize` nothing is waited for. */
  #authorize(
    method: HttpMethod,
    url: string,
    body: string | FormData | Blob | undefined,
    init: UpstreamRequestOptions | undefined,
  ): Record<string, string> | Promise<Record<string, string>> {
    const { plugin, keys } = this.#route;
    // A form has no content type here: the platform sets it, with the boundary.
    const contentType = typeof body === "string" ? json : undefined;
    if (this.#credential === undefined) return createHeaders(init?.headers, contentType);
    const request: AuthorizedRequest = {
      method,
      url,
      body,
      // Few look at them.
      get headers() {
        return createHeaders(init?.headers, contentType);
      },
      postForm: (to, fields) => this.#postForm(to, fields),
      askMachine: (asking) => this.#askMachine(asking),
    };
    const authorization = plugin.authorize(request, this.#credential);
    const finish = (carrying: Record<string, string>) => {
      const { authorization: token } = carrying;
      if (token?.startsWith("Bearer ")) keys.conceal(token.slice("Bearer ".length));
      return createHeaders(carrying, init?.headers, contentType);
    };
    return authorization instanceof Promise ? authorization.then(finish) : finish(authorization);
  }

  async #postForm(to: string, fields: Readonly<Record<string, string>>): Promise<TokenResponse> {
    const { guard } = this.#network;
    const url = new URL(to);
    await guard.checkTokenUrl(this.#route.plugin, this.#credential as ProviderCredential, url);
    const headers = createHeaders({ accept: "application/json" }, form);
    return await this.#fetchCredential(to, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
  }

  /**
   * Calls the one service of the machine that the operator chose by the credential. The plugin does not choose its
   * address.
   */
  async #askMachine({ path = "", method = "GET", headers }: MachineRequest): Promise<TokenResponse> {
    const credential = this.#credential as ProviderCredential;
    const service = getForm(this.#route.plugin.credential)?.machine?.(credential.fields);
    if (service === undefined) throw new TypeError("The credential does not choose a service of the machine");
    const address = this.#network.machine[service];
    if (address === undefined) {
      throw new UpstreamError(
        "auth",
        `This machine has no credential service ${service}: its environment does not name one`,
      );
    }
    const token = address.readToken?.();
    const all = { accept: "application/json", ...headers, ...(token !== undefined && { authorization: token }) };
    return await this.#fetchCredential(address.url + path, { method, headers: createHeaders(all), body: undefined });
  }

  /** For all calls that wait for it: neither the caller nor the deadline of this call ends it. */
  async #fetchCredential(
    to: string,
    request: { method: HttpMethod; headers: Record<string, string>; body: string | undefined },
  ): Promise<TokenResponse> {
    const { client } = this.#network;
    const signal = AbortSignal.timeout(tokenMsMax);
    try {
      const response = await client.request({ ...splitUrl(to), ...request, signal });
      const text = await readTextStart(response, { ...this.#limits(tokenBytesMax), onIdle: () => undefined });
      return { status: response.status, headers: response.headers, body: text };
    } catch (cause) {
      if (signal.aborted) throw new UpstreamError("timeout", "The provider's token endpoint did not answer", { cause });
      const reason = cause instanceof UpstreamError ? cause.message : "the connection failed";
      throw new UpstreamError("bad_response", `The request to the provider's token endpoint failed. ${reason}`, {
        cause,
      });
    }
  }

  async #readRefusal(response: Response): Promise<UpstreamError> {
    const { status, headers } = response;
    if (status >= 300 && status < 400) {
      cancelBody(response);
      const message = `The provider answered with a redirect (${status}), which is not followed`;
      return new UpstreamError("bad_response", message, { status });
    }
    const body = await readTextStart(response, this.#limits(refusalBytesMax));
    const error = this.#route.plugin.readError({ status, headers, body });
    const providerMessage = readProviderMessage(body);
    error.providerMessage =
      providerMessage === undefined ? undefined : this.#route.keys.hide(providerMessage).slice(0, saidCharactersMax);
    if (error.kind === "auth" && this.#credential !== undefined) forgetKept(this.#credential);
    return error;
  }

  #readText(response: Response, request: SentRequest): Promise<string> {
    const limits = this.#limits(this.#network.bounds.answerBytesMax, (bytes) =>
      this.#reserveAnswer(answerCopies * bytes),
    );
    return readAnswerText(response, limits, (chunks, bytes) => request.readCut(chunks, bytes));
  }

  /**
   * The value of a whole answer; of a long one a promise of it.
   *
   * @throws {OtherFormError} When it is a stream of events.
   */
  #parse(text: string, response: Response, request: SentRequest): unknown {
    if (formOf(text) === "events") throw this.#readStreamedWhole(text, request);
    try {
      const value = readJsonInTurns(text, this.#sender.answerSource, (bytes) => this.#reserveValues(bytes, text));
      if (!(value instanceof Promise)) return this.#takeAnswer(value, request);
      return value.then(
        (whole) => this.#takeAnswer(whole, request),
        (cause) => {
          throw toUnreadable(cause, text, response, request);
        },
      );
    } catch (cause) {
      throw toUnreadable(cause, text, response, request);
    }
  }

  #readStreamedWhole(text: string, request: SentRequest): OtherFormError {
    const parser = new SseParser(this.#network.bounds.answerBytesMax);
    const events = [...parser.push(text), ...parser.end()];
    for (const event of events) request.readEvent(event);
    request.isWhole = true;
    return new OtherFormError({ events });
  }

  #takeAnswer(value: unknown, request: SentRequest): unknown {
    this.#answers.push(value);
    request.readAnswer(value);
    return value;
  }

  /**
   * Reserves memory for the parsed values of a text. Many short values need many times the memory of their text, and
   * only {@link answerCopies} times is already counted.
   */
  #reserveValues(valueBytes: number, text: string): void {
    const moreBytes = valueBytes - (answerCopies - 1) * text.length;
    if (moreBytes > valueBytesMin) this.#reserveAnswer(moreBytes);
  }

  /** @throws {LongAnswerError} When there is no room: the provider has made the answer, so it is not asked again. */
  #reserveAnswer(bytes: number): void {
    try {
      this.#sender.reserveAnswer(bytes);
    } catch (cause) {
      const message =
        "The gateway does not have enough free memory for a response of this size; request a shorter one, or a stream";
      throw new LongAnswerError("bad_response", message, { cause, isOfRequest: true });
    }
  }

  #limits(bytesMax: number, reserve?: (bytes: number) => void): BodyLimits {
    const { timeouts, now, bounds } = this.#network;
    return {
      timeouts,
      now,
      idleMsMax: this.#silenceMsMax(bounds.idleMsMax),
      bytesMax,
      reserve,
      onIdle: () => this.#timeout(),
      toUpstreamError: (error) =>
        this.#toUpstreamError(error instanceof UpstreamError ? error : new ConnectionError(error, true)),
    };
  }

  #silenceMsMax(defaultMs: number): number {
    return getSilenceMs(this.#route.model, this.#network.bounds) ?? defaultMs;
  }

  #timeout(): void {
    this.#timedOut = true;
    for (const request of this.#sent) request.isTimedOut = true;
    this.#sender.onSilence();
  }

  #toUpstreamError(error: unknown): Error {
    if (this.#timedOut || this.#sender.cancelReason === "timeout") {
      return new UpstreamError("timeout", "The provider did not answer in the time allowed", { cause: error });
    }
    if (error instanceof UpstreamError) return error;
    return new UpstreamError("bad_response", "The connection to the provider failed", { cause: error });
  }
}

/** A request whose host was checked, with its headers. */
interface PreparedRequest {
  readonly route: Route;
  readonly baseUrl: string;
  readonly path: string;
  readonly method: HttpMethod;
  readonly headers: Record<string, string>;
}

interface UpstreamItemsOptions<Item> {
  readonly body: Pick<BodyReader, "read" | "cancel" | "drain" | "linger">;
  /** Makes items of bytes that are cut anywhere. */
  readonly parser: { push(bytes: Uint8Array<ArrayBuffer>): Item[]; end(): Item[] };
  readonly slices: Slices;
  takeTurn(): Promise<void>;
  onTake(item: Item): void;
  /** No more is read. Called once, unless reading failed. */
  onEnd(): void;
}

/** The events or bytes of one answer, for the kernel in batches and for plugins one by one. */
class UpstreamItems<Item> implements AsyncIterable<Item>, BatchReader<Item> {
  readonly [readsBatches] = true;
  readonly #options: UpstreamItemsOptions<Item>;
  #first: readonly Item[] | undefined;
  #hasEnded = false;

  constructor(options: UpstreamItemsOptions<Item>) {
    this.#options = options;
  }

  /** The first items, which are read again afterwards; `undefined` at the end. */
  async readFirst(): Promise<readonly Item[] | undefined> {
    do this.#first = await this.read();
    while (this.#first?.length === 0);
    return this.#first;
  }

  async read(): Promise<readonly Item[] | undefined> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined && first.length > 0) return first;
    if (this.#hasEnded) return undefined;
    const { body, parser, slices } = this.#options;
    try {
      let bytes = slices.hasMore ? await slices.next() : await body.read();
      if (bytes !== undefined && bytes.byteLength > sliceBytes) bytes = await slices.begin(bytes);
      if (this.#hasEnded) return undefined;
      const items = bytes === undefined ? parser.end() : parser.push(bytes);
      if (bytes === undefined) this.#end();
      return items;
    } catch (error) {
      this.#hasEnded = true;
      slices.drop();
      body.cancel();
      throw error;
    }
  }

  takeTurn(): Promise<void> {
    return this.#options.takeTurn();
  }

  onTake(item: Item): void {
    this.#options.onTake(item);
  }

  cancel(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#options.body.cancel();
  }

  drain(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#options.body.drain();
  }

  linger(ms?: number): void {
    if (!this.#hasEnded) this.#options.body.linger(ms);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#options.slices.drop();
    this.#options.onEnd();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, undefined> {
    try {
      for (let items = await this.read(); items !== undefined; items = await this.read()) {
        for (const item of items) {
          this.onTake(item);
          yield item;
        }
      }
    } finally {
      this.cancel();
    }
  }
}

interface UpstreamSocketOptions extends Pick<UpstreamItemsOptions<unknown>, "slices" | "takeTurn"> {
  readonly connection: WebSocketConnection;
  /** Reads the bytes of the frames. */
  readonly body: BodyReader;
  /** Counts memory of a message that has come in part. */
  reserve(bytes: number): void;
  onTake(message: WebSocketMessage): void;
  onEnd(): void;
  /** The provider closed the connection. Returns the error that this is, if it is one. */
  onClose(close: WebSocketClose): UpstreamError | undefined;
  /** Waits until the connection takes more. */
  onSend(): Promise<void>;
}

/** A WebSocket: its messages in batches or one by one, and what is sent. */
class UpstreamSocket extends UpstreamItems<WebSocketMessage> implements UpstreamWebSocket {
  readonly #options: UpstreamSocketOptions;
  readonly #body: { isClosed: boolean };

  constructor(options: UpstreamSocketOptions) {
    const { connection, body, reserve, slices, takeTurn, onTake, onEnd, onClose } = options;
    const state = { isClosed: false };
    const close = (code: number) => {
      if (!state.isClosed) connection.end(writeClose(code));
      state.isClosed = true;
    };
    const parser = new WebSocketParser({
      reserve,
      onPing: (payload) => void (state.isClosed || connection.write(writeFrame(opcodes.pong, payload))),
    });
    const cancel = () => {
      parser.end();
      close(normalClose);
      body.cancel();
    };
    super({
      body: {
        read: async () => (parser.close === undefined ? await body.read() : undefined),
        cancel,
        drain: cancel,
        linger: (ms) => (ms === undefined ? cancel() : undefined),
      },
      parser: {
        push: (bytes) => parser.push(bytes),
        end: () => {
          if (parser.close === undefined) throw new ConnectionError(undefined, true);
          cancel();
          const error = onClose(parser.close);
          if (error !== undefined) throw error;
          return [];
        },
      },
      slices,
      takeTurn,
      onTake,
      onEnd,
    });
    this.#options = options;
    this.#body = state;
  }

  get protocol(): string {
    return this.#options.connection.protocol;
  }

  async send(message: string | Uint8Array): Promise<void> {
    const { connection, onSend } = this.#options;
    if (this.#body.isClosed) throw new TypeError("Cannot send a message: the WebSocket is closed");
    if (!connection.write(writeMessage(message))) await onSend();
  }

  close(): void {
    this.cancel();
  }
}

/** A request for a turn. */
interface AskedTurn {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly turns: SocketTurns;
}

/** A turn goes by a kept socket, by it with the whole conversation, and by a new one. */
const socketAsksMax = 3;
/** Where something between swallows a handshake, the turn goes by POST after this. */
const handshakeMsMax = 10_000;

/** The error for a whole answer that cannot be read. What came of it is owed. */
function toUnreadable(cause: unknown, text: string, { status }: Response, request: SentRequest): UpstreamError {
  request.readCut([Buffer.from(text)], text.length, true);
  if (cause instanceof UpstreamError) return cause;
  const isPage = /^\s*<(!doctype|html|head|body)\b/i.test(text);
  const notJson = isPage ? "is a page (HTML), not JSON: its base URL seems wrong" : "is not JSON";
  const reason = cause instanceof JsonBoundsError ? cause.reason : notJson;
  return new UpstreamError("bad_response", `The provider's answer ${reason}`, { status, cause });
}

/** Bytes of the beginning of an answer that are looked at: more than an error has. */
const bytesLookedAt = 64 * 1024;
/** How much of a provider's own words is kept, in characters. */
const saidCharactersMax = 500;

/** The message of an error response in whatever form, of a plain text all of it; `undefined` of a page and of nothing. */
function readProviderMessage(body: string): string | undefined {
  const text = body.trim();
  if (text === "" || text.startsWith("<")) return undefined;
  let value: unknown;
  try {
    value = readJson(text, "document");
  } catch (error) {
    return error instanceof JsonBoundsError ? undefined : text;
  }
  return findMessage(Array.isArray(value) ? value[0] : value);
}

function findMessage(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, Message, detail } = value as Record<string, unknown>;
  return [error, message, Message, detail].map(findMessage).find((message) => message !== undefined);
}

const normalClose = 1000;

/** The meaning of close codes (RFC 6455 and its registry). One that is not here does not say who can cure it. */
const closeKinds: Readonly<Record<number, UpstreamErrorKind>> = {
  1001: "overloaded",
  1003: "bad_request",
  1007: "bad_request",
  1009: "bad_request",
  1011: "server_error",
  1012: "overloaded",
  1013: "overloaded",
  1014: "overloaded",
  3000: "auth",
  3003: "auth",
  3008: "timeout",
};

/** The error for a connection that its provider closed; `undefined` where that was the end. */
function toCloseError({ code, reason }: WebSocketClose, hide: (text: string) => string): UpstreamError | undefined {
  if (code === undefined || code === normalClose) return undefined;
  const kind = closeKinds[code] ?? "bad_response";
  const text = hide(reason);
  const message = `The provider closed the WebSocket with the code ${code}`;
  const error = new UpstreamError(kind, kind === "bad_request" && text !== "" ? `${message}: ${text}` : message, {
    code: `websocket_${code}`,
  });
  error.providerMessage = text === "" ? undefined : text;
  return error;
}

function takeMessage(request: SentRequest, message: WebSocketMessage): void {
  if (typeof message === "string") request.readEvent({ event: "message", data: message });
  else request.isAnswered = true;
}

/** Whether an event ends a choice and reports what it used. Servers that report with each piece do so at the top level. */
function hasChoiceReport(data: string): boolean {
  if (!/"finish_reason"\s*:\s*"/.test(data)) return false;
  const part = parseJson(data, "event");
  const choices: unknown = isRecord(part) ? part.choices : undefined;
  return Array.isArray(choices) && choices.some((choice) => isRecord(choice) && isRecord(choice.usage));
}

/** A body as JSON; `GET` and `DELETE` have no body unless one is passed. */
function toText(body: unknown, init: UpstreamRequestOptions | undefined): string | undefined {
  const hasBody = body !== undefined || (init?.method !== "GET" && init?.method !== "DELETE");
  return hasBody ? toJsonText(body) : undefined;
}

/** A whole URL as the base URL and the path of a request. */
function splitUrl(text: string): { baseUrl: string; path: string } {
  const { origin, pathname, search } = new URL(text);
  return { baseUrl: origin, path: pathname + search };
}

/** Number of chunks, of some 64 kB each, that are inspected of an answer that was cut. */
const chunksSampled = 64;
/** More events than come before the first content: a stream has begun then, whatever they say. */
const earlyEventsMax = 64;
/** Bytes at the beginning that distinguish JSON from an HTML page. */
const headBytes = 1024;

/**
 * A request that a provider may have received and has not refused, and what it said of its use: read before the plugin
 * translates the answer, because what was served is owed whatever happens to the answer.
 */
export class SentRequest {
  readonly #readUsage: ProviderPlugin["readUsage"];
  /** The head of an answer came, whatever it says. */
  hasBegun = false;
  /** Something of an answer came that is not an error. */
  isAnswered = false;
  /** All of the answer came, so its report is final. */
  isWhole = false;
  /** The gateway ended it, because it was silent for too long. */
  isTimedOut = false;
  /** Bytes of an answer that was cut or is not JSON, and a part of its text. */
  cutBytes = 0;
  cutText = "";
  /** It is something of another server between: a page, or a text that is no answer. */
  isPage = false;
  /** The first piece of an answer that its handler reads as bytes. */
  #firstBytes: Uint8Array | undefined;
  /** A whole answer, or the events before a stream had content, as far as they are kept. */
  #answer: unknown;
  readonly #early: string[] = [];
  #usage: AnswerUsage | undefined;
  /** The report read from the events; reset by each event that reports usage. */
  #eventUsage: { readonly usage: AnswerUsage | undefined } | undefined;
  /** The first and the last event that may report usage. Read only where it is needed. */
  #first: string | undefined;
  #last: string | undefined;
  /** Report of the events so far, where choices have reports of their own: each of them counts, and not the first and the last alone. */
  #ofChoices: { readonly usage: AnswerUsage | undefined } | undefined;
  /** Events after the last that reports usage. */
  #afterReport = 0;
  /** An event said an error. */
  #hasFailed = false;

  constructor(readUsage: ProviderPlugin["readUsage"]) {
    this.#readUsage = readUsage;
  }

  /** Takes a whole answer. One that says an error is a refusal unless it reports what it used. */
  readAnswer(answer: unknown): void {
    this.isWhole = true;
    this.#answer = answer;
    this.#usage = isRecord(answer) ? this.#read(answer) : undefined;
    this.isAnswered = this.#usage !== undefined || (isRecord(answer) && !isError(answer));
  }

  /** Takes what came of an answer that cannot be read: it was cut, or all of it came and it is not JSON. Of a long one some chunks are looked at, evenly spread. */
  readCut(chunks: readonly Uint8Array[], bytes: number, isWhole = false): void {
    const sample = new TextSample();
    const decoder = new TextDecoder();
    const step = Math.max(1, Math.ceil(chunks.length / chunksSampled));
    for (let index = 0; index < chunks.length; index += step) sample.add(decoder.decode(chunks[index]));
    this.cutText = sample.text;
    const [first] = chunks;
    const head = first === undefined ? "" : decoder.decode(first.subarray(0, headBytes));
    // A page of something in between is not an answer of the model.
    const form = formOf(head);
    // Bytes that all came in place of JSON are nothing of the model; of those that broke off nobody knows.
    const mayBeAnswer = isAnswerForm(form) && !(isWhole && form === "binary");
    this.isAnswered = this.cutText === "" ? !isWhole : mayBeAnswer;
    this.isPage = isWhole && !this.isAnswered;
    if (this.isAnswered) this.cutBytes = bytes;
    else this.cutText = "";
  }

  /** Takes a piece of an answer that its handler reads as bytes. */
  readBytes(bytes: Uint8Array): void {
    this.isAnswered = true;
    this.#firstBytes ??= bytes;
  }

  /** Takes an event of a stream. */
  readEvent({ event, data }: ServerEvent): void {
    if (this.#early.length < earlyEventsMax) this.#early.push(data);
    // Events that say only that the request was taken are no answer where a failure follows them.
    if (data.includes('"error"') && !data.includes('"error":null') && isError(parseJson(data, "event")))
      this.#hasFailed = true;
    this.isAnswered = !this.#hasFailed && (this.isAnswered || (data !== "" && event !== "raw"));
    if (isEndMark(data)) this.isWhole = true;
    else if (data.includes('"usage') && !data.includes('"usage":null')) {
      this.#afterReport = 0;
      this.#eventUsage = undefined;
      if (this.#ofChoices !== undefined || hasChoiceReport(data)) this.#ofChoices = { usage: this.#addEvent(data) };
      else if (this.#first === undefined) this.#first = data;
      else this.#last = data;
    } else this.#afterReport++;
  }

  #addEvent(data: string): AnswerUsage | undefined {
    const before = this.#ofChoices === undefined ? this.#readEvents() : this.#ofChoices.usage;
    const part = parseJson(data, "event");
    return isRecord(part) ? this.#read(part, before) : before;
  }

  /** All of it came, and it has neither content nor a report. For use if the answer could not be used. */
  get isEmpty(): boolean {
    if (this.isPage) return true;
    if (this.#firstBytes !== undefined) return this.isWhole && isEmptyAnswer(this.#firstBytes);
    const isReported = this.#usage !== undefined || this.#first !== undefined || this.#ofChoices !== undefined;
    if (!this.isWhole || isReported || this.cutBytes > 0) return false;
    if (this.#early.length >= earlyEventsMax || hasContent(this.#answer)) return false;
    return !this.#early.some(mayHaveContent);
  }

  /** The provider's usage report, if it is final. */
  get usage(): AnswerUsage | undefined {
    // Only the end mark may follow the last report. A report from the beginning alone belongs to a stream that broke
    // off.
    if (!this.isWhole || this.#afterReport > 1) return undefined;
    this.#eventUsage ??= this.#ofChoices ?? { usage: this.#readEvents() };
    return this.#eventUsage.usage;
  }

  #readEvents(): AnswerUsage | undefined {
    let usage = this.#usage;
    for (const data of [this.#first, this.#last]) {
      const part = data === undefined ? undefined : parseJson(data, "event");
      if (isRecord(part)) usage = this.#read(part, usage);
    }
    return usage;
  }

  /** A third-party plugin that throws here makes no report. */
  #read(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
    try {
      return this.#readUsage(part, before);
    } catch {
      return before;
    }
  }
}

/**
 * Whether an answer in bytes is a page or an error, by its first piece. Anything else, such as audio, may be the
 * requested answer.
 */
function isEmptyAnswer(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes.subarray(0, bytesLookedAt), { stream: true });
  const form = formOf(text);
  if (form !== "json") return form === "page" || form === "nothing";
  const answer = parseJson(text, "event");
  return answer !== undefined && !hasContent(answer);
}

/** Whether an event has content, or is JSON that cannot be read, which may have some. */
function mayHaveContent(data: string): boolean {
  const part = parseJson(data, "event");
  return part === undefined ? !isEndMark(data) && formOf(data) === "json" : hasContent(part);
}

function isError(answer: unknown): boolean {
  if (!isRecord(answer)) return false;
  const { type, error, response, choices } = answer;
  if (type === "error" || error || (isRecord(response) && Boolean(response.error))) return true;
  return Array.isArray(choices) && choices.length > 0 && choices.every(isFailedChoice);
}

/** A router that loses its provider within an answer says so in a choice. */
function isFailedChoice(choice: unknown): boolean {
  return isRecord(choice) && (Boolean(choice.error) || isFailedFinish(choice.finish_reason));
}
