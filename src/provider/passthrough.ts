import { KindGuard, type TSchema } from "@sinclair/typebox";
import type { CacheMissKind, UpstreamError } from "../contract/index.ts";
import type { Model } from "./model.ts";
import type { Call, ServerEvent } from "./plugin.ts";

/** The JSON of a whole answer, or of one event, of a wire format. */
export type WirePart = Record<string, unknown>;

/** How a part of a conversation is bounded. */
export type PromptPartKind = "text" | "image" | "audio" | "file" | "parts";

/**
 * Describes where a wire format has its conversation, which lets the tokens of a body be bounded as it is sent. Every
 * value counts, whatever its field; this only distinguishes media from text.
 */
export interface PromptForm {
  /** The field of the messages or items. */
  readonly list: string;
  /** The fields that can hold no text. */
  readonly scalars: ReadonlySet<string>;
  /** Kinds of parts. A part of another kind may refer to anything: only the context of the model bounds it. */
  readonly parts: Readonly<Record<string, PromptPartKind>>;
  /** The members of a message or an item that hold parts. */
  readonly partsMembers: ReadonlySet<string>;
  /** Kinds of items that cost as much as their text; absent: all kinds do. */
  readonly items?: ReadonlySet<unknown> | undefined;
  /** Audio is sent along and can be measured; otherwise only the context bounds it. */
  readonly measuresAudio?: boolean;
  /** An assistant's message names an earlier answer in audio. */
  readonly hasAudioAnswers?: boolean;
  /** A schema is sent with its references put in place. */
  readonly unfoldsSchemas?: boolean;
  /** A part may occur without a list around it. */
  readonly hasSingleParts?: boolean;
  /** Where a file has its bytes: in an object of its own, in the part itself, or in a `source` of one of several types. */
  readonly files: "object" | "part" | "source";
}

/** A provider's word on its prompt cache, for a client that asked. */
export interface CacheReport {
  /** In the provider's words, such as `tools_changed`. */
  readonly reason: string;
  /** Absent: it does not say why a part was missed. */
  readonly kind?: CacheMissKind | undefined;
  /** Tokens that were missed; absent: it does not say. */
  readonly tokens?: number | undefined;
}

/** The fields that the schema of a request holds to numbers, switches and fixed words. */
export function scalarsOf(properties: Readonly<Record<string, TSchema>>): ReadonlySet<string> {
  return new Set(Object.keys(properties).filter((name) => isScalarSchema(properties[name])));
}

/** Whether a schema holds a value to a number, a switch or a fixed word. */
export function isScalarSchema(schema: TSchema | undefined): boolean {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.every(isScalarSchema);
  if (KindGuard.IsLiteral(schema) || KindGuard.IsNull(schema)) return true;
  return KindGuard.IsNumber(schema) || KindGuard.IsInteger(schema) || KindGuard.IsBoolean(schema);
}

/**
 * A wire format whose bodies and answers the kernel passes through: it counts, bounds and bills them
 * without knowing the format.
 */
export interface PassthroughFormat {
  readonly protocol: "responses" | "messages" | "decisions";
  /** The field of a request that bounds the answer; absent: no field does. */
  readonly outputLimit?: string;
  /** The fields that say here what a field of chat says, by the name in chat; absent, and fields that are not in it: those of the same name. */
  readonly namesOfChat?: Readonly<Record<string, readonly string[]>>;
  readonly prompt: PromptForm;
  /** The provider's own word on its prompt cache, where an answer or one of its events has it. */
  cacheReportOf?(part: WirePart): CacheReport | undefined;
  /** The handler of a plugin that counts the tokens of a body; absent: none does. */
  readonly countHandler?: "countResponsesTokens" | "countMessagesTokens";
  /** Whether a row is served in this format, if its plugin can; absent: every row is. */
  serves?(model: Model): boolean;
  /**
   * Whether a header of the client's belongs to the format, and goes to the provider; absent: the format has no
   * headers.
   */
  isOwnHeader?(name: string): boolean;
  /** Returns a body's request for reasoning; `undefined` if it has no such request. */
  reasoningOf(body: WirePart): unknown;
  /** Returns the service tier that a body requests, under the name that it has in the price. */
  tierOf(body: WirePart): unknown;
  /** Returns the name of the tier that served, if the answer says it. */
  servedTierOf(head: WirePart): unknown;
  /** Whether the provider itself shortens a prompt that is too long. */
  shortensPrompt(body: WirePart): boolean;
  /** How many searches of the web a body lets its provider run: 0 without a tool for that, `undefined` without a limit. */
  searchLimitOf(body: WirePart): number | undefined;
  /** Whether its searches put no more into a prompt than `searchTokensMax` of a row says. */
  isSearchBounded(body: WirePart): boolean;
  /** Whether the only tools of a body are such searches. */
  hasOnlySearches(body: WirePart): boolean;
  /** A copy of a body with such a tool that allows so many searches; for 0 without the tool. */
  withSearchLimit(body: WirePart, searches: number, warn: Call<unknown>["warn"]): WirePart;
  /** How many searches an answer has run, or an event begins. */
  countSearches(part: WirePart): number;
  /** Whether an event says only that the provider has taken the request: no route is committed by it. */
  isPrelude(type: unknown): boolean;
  /** Whether the answer is complete with this event. */
  isLast(type: unknown): boolean;
  /** Whether a value is a whole answer. */
  isAnswer(value: WirePart): boolean;
  /** The object that stands for the whole answer in an event and has the model's name; absent in most. */
  headOf(event: WirePart): WirePart | undefined;
  /** Returns the failure that an answer or event reports. */
  errorOf(part: WirePart): UpstreamError | undefined;
  /** Reads a failure that came in place of an event. */
  readError(body: unknown): UpstreamError;
  /** Passes the text of an event or of a whole answer to the reader. */
  readOutput(part: WirePart, reader: OutputReader): void;
  /** Creates a repair for one answer of a provider that departs from the format; absent: answers need no repair. */
  createRepair?(): AnswerRepair;
  /** Last event of a stream, if it adds nothing to the events before it. */
  closing?: ServerEvent;
  /**
   * Returns why the model stopped, in the words of chat, or in the provider's if chat has no word for it. `undefined`
   * if the part does not say.
   */
  finishReasonOf(part: WirePart): string | undefined;
}

/** Repairs an answer whose provider departs from the wire format in a way that breaks clients. */
export interface AnswerRepair {
  /** How much of a stream is kept until its end, in characters; absent: nothing is. */
  readonly keptCharacters?: number;
  /**
   * Repairs a whole answer, or the events of one in their order, in place.
   *
   * @param characters Length of the event.
   * @returns Whether it changed something.
   */
  repair(part: WirePart, characters: number): boolean;
  /** Returns the events that the provider left out in front of an event, after its {@link repair}; absent: none are. */
  missingBefore?(part: WirePart): readonly ServerEvent[];
}

/**
 * Receives the text of an answer. A place is an item of the answer, by its index, and a part within it; without an
 * item, the place is the whole answer.
 */
export interface OutputReader {
  /** Adds text to a place: a text, or a value that contains texts. */
  piece(value: unknown, item?: unknown, part?: unknown): void;
  /** Gives all text of a place so far. Text that came earlier does not count again. */
  whole(value: unknown, item?: unknown, part?: unknown): void;
  /** Ends an item. A later item may have the same index. */
  end(item: unknown): void;
}

/** Something that a translation of a request left out or changed. */
export interface Loss {
  readonly message: string;
  /** The fields that it is about, as the client's protocol writes their paths. */
  readonly fields: readonly string[];
}

/** A request as its client wrote it, for the routes whose providers speak the client's wire format. */
export interface PassthroughRequest {
  readonly format: PassthroughFormat;
  readonly body: WirePart;
  /** The conversation is to be compacted, which only some providers of the format do. */
  readonly isCompaction?: boolean;
}

/** State of an answer that is passed through, once the first event has come. */
export interface PassedAnswer {
  /** The answer as its last event showed it. */
  readonly head?: WirePart | undefined;
  /** Number of the last event; 0 if events have no numbers. */
  readonly sequence: number;
  /** The last event of a stream, to be sent once the call is settled. */
  readonly lastEvent?: ServerEvent | undefined;
}
