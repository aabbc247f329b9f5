import { UpstreamError } from "../contract/index.ts";
import type { WebSocketMessage } from "../provider/index.ts";

/** The longest message that a provider may send, in bytes. */
const messageBytesMaxDefault = 16 * 1024 * 1024;
const controlBytesMax = 125;

/** The kinds of frames (RFC 6455, section 5.2). */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type Opcode = (typeof opcodes)[keyof typeof opcodes];
const knownOpcodes: ReadonlySet<number> = new Set(Object.values(opcodes));

/** How a server ended a connection; without a code where it gave none. */
export interface WebSocketClose {
  readonly code: number | undefined;
  readonly reason: string;
}

interface ParserOptions {
  readonly messageBytesMax?: number;
  /** Counts memory of a message that has come in part, and frees it where that is negative; may throw. */
  readonly reserve?: (bytes: number) => void;
  /** Answers a ping. Of several in one piece the last is enough. */
  readonly onPing?: (payload: Uint8Array) => void;
}

/** The frame whose payload is being read. */
interface Frame {
  readonly opcode: Opcode;
  readonly isLast: boolean;
  readonly length: number;
  left: number;
}

/**
 * Reads the messages that a server sends by WebSocket (RFC 6455), from pieces that are cut anywhere. No extension is
 * negotiated, so nothing is compressed. Memory grows with the bytes of a message that have come, never with the length
 * that a frame announces.
 *
 * @example
 * const parser = new WebSocketParser();
 * parser.push(new Uint8Array([0x81, 2, 72, 105])); // => ["Hi"]
 */
export class WebSocketParser {
  readonly #messageBytesMax: number;
  readonly #reserve: (bytes: number) => void;
  readonly #onPing: (payload: Uint8Array) => void;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The part of a frame's head that has come. */
  readonly #head = new Uint8Array(10);
  #headLength = 0;
  #frame: Frame | undefined;
  readonly #control = new Uint8Array(controlBytesMax);
  #controlLength = 0;
  /** The part that has come of a message of several pieces; the buffer doubles as it grows. */
  #message = new Uint8Array(0);
  #messageLength = 0;
  /** Kind of a message that further frames continue. */
  #messageOpcode: Opcode | undefined;
  #close: WebSocketClose | undefined;

  constructor({ messageBytesMax = messageBytesMaxDefault, reserve, onPing }: ParserOptions = {}) {
    this.#messageBytesMax = messageBytesMax;
    this.#reserve = reserve ?? (() => undefined);
    this.#onPing = onPing ?? (() => undefined);
  }

  /** How the server closed the connection; absent while it is open. Nothing after the close is read. */
  get close(): WebSocketClose | undefined {
    return this.#close;
  }

  /**
   * Takes a piece and gives the messages that are complete.
   *
   * @throws {UpstreamError} `bad_response` when it is no WebSocket, or a message is too long.
   */
  push(piece: Uint8Array<ArrayBuffer>): WebSocketMessage[] {
    const messages: WebSocketMessage[] = [];
    let ping: Uint8Array | undefined;
    let at = 0;
    while (this.#close === undefined) {
      if (this.#frame === undefined) {
        at = this.#readHead(piece, at);
        if (this.#frame === undefined) break;
      }
      const frame: Frame = this.#frame;
      const payload = piece.subarray(at, at + frame.left);
      at += payload.length;
      frame.left -= payload.length;
      if (frame.opcode >= opcodes.close) {
        this.#control.set(payload, this.#controlLength);
        this.#controlLength += payload.length;
      } else if (frame.opcode !== opcodes.continuation && frame.isLast && payload.length === frame.length) {
        messages.push(this.#toMessage(frame.opcode, payload));
      } else this.#append(payload);
      if (frame.left > 0) break;
      if (frame.opcode >= opcodes.close) ping = this.#endControl(frame.opcode) ?? ping;
      else if (payload.length < frame.length || frame.opcode === opcodes.continuation || !frame.isLast) {
        if (frame.opcode !== opcodes.continuation) this.#messageOpcode = frame.opcode;
        if (frame.isLast) messages.push(this.#endMessage());
      }
      this.#frame = undefined;
    }
    if (ping !== undefined && this.#close === undefined) this.#onPing(ping);
    return messages;
  }

  /** Frees what is left of a message that will not be complete. */
  end(): void {
    if (this.#message.length > 0) this.#reserve(-this.#message.length);
    this.#message = new Uint8Array(0);
    this.#messageLength = 0;
  }

  /** Reads the head of a frame, or the part of it that has come. Returns where its payload begins. */
  #readHead(piece: Uint8Array, from: number): number {
    const head = this.#head;
    let at = from;
    let headBytes = 2;
    while (this.#headLength < headBytes) {
      if (at >= piece.length) return at;
      head[this.#headLength++] = piece[at++] as number;
      const length = head[1] as number;
      if (this.#headLength >= 2) headBytes = length === 127 ? 10 : length === 126 ? 4 : 2;
      if (this.#headLength === 2) this.#checkHead(head[0] as number, length);
    }
    this.#headLength = 0;
    const view = new DataView(head.buffer);
    const short = head[1] as number;
    const length = short === 127 ? Number(view.getBigUint64(2)) : short === 126 ? view.getUint16(2) : short;
    const [first] = head as unknown as [number];
    const opcode = (first & 15) as Opcode;
    if (opcode < opcodes.close && this.#messageLength + length > this.#messageBytesMax) {
      const message = `The provider's WebSocket has a message of more than ${this.#messageBytesMax} bytes`;
      throw new UpstreamError("bad_response", message, { isOfRequest: true });
    }
    this.#frame = { opcode, isLast: first >= 128, length, left: length };
    return at;
  }

  #checkHead(first: number, second: number): void {
    const opcode = first & 15;
    if ((first & 0x70) !== 0) throw broken("a frame of an extension that was not agreed on");
    if (!knownOpcodes.has(opcode)) throw broken("a frame of an unknown kind");
    if (second >= 128) throw broken("a frame with a mask, which only clients send");
    if (opcode >= opcodes.close) {
      if (second > controlBytesMax || first < 128) throw broken("a control frame that is too long or in parts");
    } else if ((opcode === opcodes.continuation) !== (this.#messageOpcode !== undefined)) {
      throw broken("frames of two messages mixed");
    }
  }

  #append(payload: Uint8Array): void {
    const length = this.#messageLength + payload.length;
    if (length > this.#message.length) {
      const size = Math.min(Math.max(length, 2 * this.#message.length, 4096), this.#messageBytesMax);
      this.#reserve(size - this.#message.length);
      const grown = new Uint8Array(size);
      grown.set(this.#message.subarray(0, this.#messageLength));
      this.#message = grown;
    }
    this.#message.set(payload, this.#messageLength);
    this.#messageLength = length;
  }

  #endMessage(): WebSocketMessage {
    const message = this.#toMessage(this.#messageOpcode as Opcode, this.#message.subarray(0, this.#messageLength));
    this.end();
    this.#messageOpcode = undefined;
    return message;
  }

  #toMessage(opcode: Opcode, payload: Uint8Array<ArrayBuffer>): WebSocketMessage {
    return opcode === opcodes.text ? this.#decode(payload) : payload;
  }

  #decode(payload: Uint8Array): string {
    try {
      return this.#decoder.decode(payload);
    } catch {
      throw broken("a text that is not UTF-8");
    }
  }

  /** Returns the payload of a ping. */
  #endControl(opcode: Opcode): Uint8Array | undefined {
    const payload = this.#control.slice(0, this.#controlLength);
    this.#controlLength = 0;
    if (opcode === opcodes.ping) return payload;
    if (opcode !== opcodes.close) return undefined;
    if (payload.length === 1) throw broken("half of a close code");
    const code = payload.length === 0 ? undefined : new DataView(payload.buffer).getUint16(0);
    this.#close = { code, reason: this.#decode(payload.subarray(2)) };
    return undefined;
  }
}

/**
 * One frame that is a whole message, or a control frame.
 *
 * @param isMasked As a client must send it; a server must not.
 */
export function writeFrame(opcode: Opcode, payload: Uint8Array, isMasked = true): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const headBytes = 2 + lengthBytes + (isMasked ? 4 : 0);
  const frame = new Uint8Array(headBytes + length);
  const view = new DataView(frame.buffer);
  frame[0] = 0x80 | opcode;
  frame[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) view.setUint16(2, length);
  if (lengthBytes === 8) view.setBigUint64(2, BigInt(length));
  frame.set(payload, headBytes);
  if (!isMasked) return frame;
  const mask = crypto.getRandomValues(frame.subarray(headBytes - 4, headBytes));
  for (let at = 0; at < length; at++) (frame[headBytes + at] as number) ^= mask[at & 3] as number;
  return frame;
}

/** A message as a frame. */
export function writeMessage(message: string | Uint8Array, isMasked = true): Uint8Array<ArrayBuffer> {
  if (typeof message !== "string") return writeFrame(opcodes.binary, message, isMasked);
  return writeFrame(opcodes.text, new TextEncoder().encode(message), isMasked);
}

/** The frame that ends a connection. */
export function writeClose(code: number, isMasked = true): Uint8Array<ArrayBuffer> {
  return writeFrame(opcodes.close, new Uint8Array([code >> 8, code & 255]), isMasked);
}

const broken = (what: string) => new UpstreamError("bad_response", `The provider's WebSocket has ${what}`);
