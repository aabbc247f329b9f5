import type { Buffer } from "node:buffer";
import type { LookupFunction } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Target } from "./target.ts";

/** A socket to a provider, by whatever the platform has. */
export interface Line {
  /** Whether all that was written has left. */
  readonly isFlushed: boolean;
  /** Sends bytes, or text as UTF-8. What does not leave at once waits in memory. */
  write(data: string | Uint8Array): void;
  /** Sends text of ASCII alone. */
  writeAscii(text: string): void;
  pause(): void;
  resume(): void;
  /** Whether it keeps the process alive; at first it does. */
  ref(): void;
  unref(): void;
  /** Closes it; its user hears nothing more. */
  destroy(): void;
}

/** What a line tells whoever uses it. */
export interface LineUser {
  /** It is open, and verified where it is TLS. */
  onOpen(): void;
  /** The bytes belong to the user. */
  onBytes(bytes: Buffer<ArrayBuffer>): void;
  /** The server has sent all it will. */
  onFinished(): void;
  /** It is closed, or was never open. Called once. */
  onClosed(error: unknown): void;
  /** A TLS session that a later line may resume. */
  onSession(session: Uint8Array): void;
}

/** Of silence on a line until the system asks whether the other side still lives. */
export const probeAfterMs = 30_000;

/** Where a line leads. */
export interface LinePlace {
  readonly target: Target;
  readonly tls: ConnectionOptions;
  /** Says at which addresses a host name may be reached; absent: the system does. */
  readonly lookup: LookupFunction | undefined;
  readonly session: Uint8Array | undefined;
}

/** Opens a line. Its user hears nothing before this has returned. */
export type Dial = (place: LinePlace, user: LineUser) => Line;
