/**
 * How many tokens a prompt can have at most, and how many it is likely to have.
 *
 * Both figures come from one walk over the whole body that is sent, in whatever protocol the client wrote it. Every
 * string, number and name counts, in whatever field: an unlisted field is held and charged like any other text. Only
 * media are treated differently, and only in places where a protocol has them: an image counts as the most that one
 * costs with its model, audio as the longest that it can play. Content that its bytes do not bound (a PDF, a document
 * by its address, a part of an unknown kind) can fill the model's context, which is also the most that a provider can
 * bill.
 */
import { Buffer } from "node:buffer";
import { KindGuard, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { getWriteMeter, lifetimeFields, type Meters } from "../../contract/index.ts";
import { readTextUrl } from "../../lib/data-url.ts";
import { isRecord, numberCharsMax } from "../../lib/json.ts";
import { SchemaBudget, unfoldSchema } from "../../lib/json-schema.ts";
import {
  ChatRequest,
  contextTokensDefault,
  isScalarSchema,
  type Model,
  type PromptForm,
  type PromptPartKind,
  scalarsOf,
} from "../../provider/index.ts";
import { audioTokensMax, hasAudioPrice, type InputAudio } from "./chat-audio.ts";

/** The most tokens that one image can cost where the row of the model does not say. */
const imageTokensDefault = 10_000;
/** Estimate of the tokens of an image (high detail, 1024 px); providers that take images report usage. */
const imageTokensEstimate = 1_500;
/** Tokens of a message in addition to its text (role and separators). */
const messageTokens = 6;
/** An earlier answer in audio of a model that does not say how long its answers are. */
const answerTokensDefault = 16_384;
/** More characters than a number and a comma have in JSON. */
const numberCharactersMax = numberCharsMax + 1;
/** Characters for each token of encrypted reasoning, for an estimate: base64 of ordinary text and its envelope. */
const sealedCharactersPerToken = 5;
/** Characters for each token of a JSON schema, for an estimate. */
const schemaCharactersPerToken = 3;

/** The uniform format. */
export const chatForm: PromptForm = {
  list: "messages",
  scalars: scalarsOf(ChatRequest.properties),
  parts: { text: "text", refusal: "text", image_url: "image", input_audio: "audio", file: "file" },
  partsMembers: new Set(["content"]),
  measuresAudio: true,
  hasAudioAnswers: true,
  unfoldsSchemas: true,
  files: "object",
};

/**
 * An upper bound of the tokens in a text, without a tokenizer: its UTF-8 bytes. Ordinary text has about four bytes a
 * token, but rare characters and random letters have one, with every vocabulary.
 */
export function tokensMax(text: string): number {
  return Buffer.byteLength(text);
}

/** Upper bound of a prompt. */
export interface PromptBound {
  /** Tokens by meter: `inputToken`, and `audioInputToken` where audio has a price of its own. */
  readonly meters: Meters;
  /** A part of the prompt is bounded by the model's context alone, so a count by the provider can be far lower. */
  readonly isOpenEnded: boolean;
  /** Something in it is named by its address: what is there for a count may be another thing for the call. */
  readonly hasAddress: boolean;
  /** Something asks for a cache that keeps for longer than the provider's least, which costs more. */
  readonly keepsLonger: boolean;
  /** A part of it is marked for a cache. */
  readonly hasMarks: boolean;
}

/** Largest prompt that a provider can bill: the limit of its own model, even if the gateway declares a lower one. */
export function getContextTokensMax({ contextTokens, upstreamContextTokens = 0 }: Model): number | undefined {
  return contextTokens === undefined ? undefined : Math.max(contextTokens, upstreamContextTokens);
}

/** The most tokens of a body, for the hold. The work grows with the number of its values, hardly with their length. */
export function boundPrompt(body: object, form: PromptForm, model: Model): PromptBound {
  const bound = new BoundVisitor();
  walkPrompt(body, form, bound);
  const contextTokens = getContextTokensMax(model);
  const { isOpenEnded, hasAddress, keepsLonger, hasMarks } = bound;
  const images = bound.images * (model.imageTokensMax ?? imageTokensDefault);
  if (!hasAudioPrice(model)) {
    const inputToken = cap(bound.tokens + images + bound.audioTokens, contextTokens, isOpenEnded);
    return { meters: { inputToken }, isOpenEnded, hasAddress, keepsLonger, hasMarks };
  }
  // A prompt without a bound may be audio, which costs more. The prompt refers to earlier answers in audio by their
  // ids.
  const answers = bound.audioAnswers * (model.outputTokensMax ?? answerTokensDefault);
  const audioInputToken = cap(bound.audioTokens + answers, contextTokens, isOpenEnded);
  const inputToken = cap(bound.tokens + images, contextTokens, false);
  const meters = { inputToken, ...(audioInputToken > 0 && { audioInputToken }) };
  return { meters, isOpenEnded, hasAddress, keepsLonger, hasMarks };
}

function cap(tokens: number, contextTokens: number | undefined, isOpen: boolean): number {
  if (isOpen) return contextTokens ?? Math.max(tokens, contextTokensDefault);
  return contextTokens === undefined ? tokens : Math.min(tokens, contextTokens);
}

/** The text of a prompt in pieces for a tokenizer, and the tokens of what is not text. */
export interface PromptText {
  readonly pieces: readonly string[];
  /** Tokens of images, of parts that only the provider can read, and of separators between messages and values. */
  readonly otherTokens: number;
  /** How long the audio plays at most, in tokens at most. */
  readonly audioTokensMax: number;
  readonly isOpenEnded: boolean;
}

/** Text that a tokenizer has to count for an estimate, from the same walk as {@link boundPrompt}. */
export function readPromptText(body: object, form: PromptForm, model: Model): PromptText {
  const text = new TextVisitor();
  walkPrompt(body, form, text);
  const each = Math.min(model.imageTokensMax ?? imageTokensDefault, imageTokensEstimate);
  return {
    pieces: text.pieces,
    otherTokens: text.tokens + text.images * each,
    audioTokensMax: text.audioTokens,
    isOpenEnded: text.isOpenEnded,
  };
}

/**
 * The most tokens of a request that is not a conversation. All its text counts, in whatever field, except fields that
 * its schema restricts to numbers and short words.
 */
export function boundText(request: object, schema: TObject): number {
  const bound = new BoundVisitor();
  visitRequest(request, schema, bound);
  return bound.tokens;
}

/** The text that {@link boundText} counts, in pieces for a tokenizer. */
export function textPieces(request: object, schema: TObject): string[] {
  const text = new TextVisitor();
  visitRequest(request, schema, text);
  return text.pieces;
}

function visitRequest(request: object, { properties }: TObject, visitor: PromptVisitor): void {
  for (const [name, value] of Object.entries(request)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (value === null || value === undefined || isShort(schema)) continue;
    if (schema !== undefined && typeof value === "string") visitor.text(value);
    else visitMember(name, value, visitor);
  }
}

/**
 * Longest `maxLength` of a field that holds a name, such as a voice. Fields that allow more count as a prompt.
 */
const nameCharactersMax = 200;

function isShort(schema: TSchema | undefined): boolean {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.every(isShort);
  if (!KindGuard.IsString(schema)) return isScalarSchema(schema);
  return schema.pattern !== undefined || (schema.maxLength ?? Number.POSITIVE_INFINITY) <= nameCharactersMax;
}

/** Takes what a walk over a prompt meets. */
abstract class PromptVisitor {
  tokens = 0;
  images = 0;
  audioTokens = 0;
  audioAnswers = 0;
  /** A part of it can fill the context, whatever bytes it has. */
  isOpenEnded = false;
  hasAddress = false;
  keepsLonger = false;
  hasMarks = false;
  /** An address was looked for in all of the part or item that is visited, and what is in it needs no look of its own. */
  isSearched = false;
  /** A JSON schema may have a reference, which some providers are sent what it refers to for. */
  hasReference = false;

  /** Text where the protocol has text. */
  abstract text(text: string): void;
  /** The kind of a part: a word of a fixed list, so no tokenizer counts it. */
  abstract word(text: string): void;
  /** A value inside a free-form value, which reaches the model as JSON, with this many characters of punctuation. */
  abstract inJson(text: string, punctuation: number): void;
  /** Punctuation alone. */
  abstract punctuation(characters: number): void;
  /** A number in JSON. */
  abstract number(value: number): void;
  /** Text that its provider encrypted, and refuses if it is changed. */
  abstract sealed(text: string): void;
  /** Upper bound in tokens of text that a translation writes out where the request only refers to it. */
  abstract unfolded(tokensMax: number): void;
}

class BoundVisitor extends PromptVisitor {
  text(text: string): void {
    this.tokens += Buffer.byteLength(text);
  }

  word(text: string): void {
    this.tokens += Buffer.byteLength(text);
  }

  inJson(text: string, punctuation: number): void {
    this.tokens += Buffer.byteLength(text) + punctuation;
  }

  punctuation(characters: number): void {
    this.tokens += characters;
  }

  number(value: number): void {
    const isShort = Number.isInteger(value) && value > -1000 && value < 1000;
    this.tokens += isShort ? 5 : numberCharactersMax;
  }

  sealed(text: string): void {
    this.tokens += Buffer.byteLength(text);
  }

  unfolded(tokensMax: number): void {
    this.tokens += tokensMax;
  }
}

class TextVisitor extends PromptVisitor {
  readonly pieces: string[] = [];

  text(text: string): void {
    if (text !== "") this.pieces.push(text);
  }

  word(): void {}

  inJson(text: string): void {
    this.text(text);
  }

  /** Pieces are counted with a line between them, which stands for what separates values. */
  punctuation(): void {}

  number(value: number): void {
    this.inJson(String(value));
  }

  sealed(text: string): void {
    this.tokens += Math.ceil(text.length / sealedCharactersPerToken);
  }

  unfolded(tokensMax: number): void {
    this.tokens += Math.ceil(tokensMax / schemaCharactersPerToken);
  }
}

/** Members of `stream_options`. */
const streamOptions = scalarsOf({ include_usage: Type.Boolean(), include_obfuscation: Type.Boolean() });

function walkPrompt(body: object, form: PromptForm, visitor: PromptVisitor): void {
  const { list, scalars } = form;
  for (const name in body) {
    const value: unknown = body[name as keyof typeof body];
    if (value === null || value === undefined || name === "model") continue;
    if (scalars.has(name) && typeof value !== "object") continue;
    if (name === "service_tier" && isWord(value)) continue;
    if (name === "stream_options" && isRecord(value)) {
      for (const option in value) if (!streamOptions.has(option)) visitMember(option, value[option], visitor);
      continue;
    }
    if (name === list && Array.isArray(value)) for (const item of value) visitItem(item, form, visitor);
    else visitMember(name, value, visitor);
  }
  if (visitor.hasReference && form.unfoldsSchemas) visitUnfolded(body as Record<string, unknown>, visitor);
}

/**
 * Visits the growth of schemas whose references are put in place; a schema that is refused then may still be sent as it
 * is.
 */
function visitUnfolded(body: Record<string, unknown>, visitor: PromptVisitor): void {
  const budget = new SchemaBudget();
  for (const schema of schemasOf(body)) {
    const tokens = unfoldedTokensMax(schema, budget);
    if (tokens === undefined) visitor.isOpenEnded = true;
    else visitor.unfolded(tokens);
  }
}

/** The JSON schemas of a chat request. */
function schemasOf({ tools, functions, response_format: format }: Record<string, unknown>): object[] {
  const listed = (list: unknown): unknown[] => (Array.isArray(list) ? list : []);
  const definitions = [...listed(tools).map((tool) => isRecord(tool) && tool.function), ...listed(functions)];
  const schemas = definitions.map((definition) => isRecord(definition) && definition.parameters);
  const { json_schema: named } = isRecord(format) ? format : {};
  return [...schemas, isRecord(named) && named.schema].filter(isRecord);
}

const unfoldedTokens = new WeakMap<object, number | undefined>();

function unfoldedTokensMax(schema: object, budget: SchemaBudget): number | undefined {
  if (!unfoldedTokens.has(schema)) {
    const unfolded = unfoldSchema(schema, budget);
    const tokens = unfolded === undefined ? undefined : Math.max(0, countTokensMax(unfolded) - countTokensMax(schema));
    unfoldedTokens.set(schema, tokens);
  }
  return unfoldedTokens.get(schema);
}

function countTokensMax(value: object): number {
  const bound = new BoundVisitor();
  visitValue(value, bound);
  return bound.tokens;
}

/** The names that protocols give to the members of messages, items and parts. They are no text of the caller's. */
const envelopeNames: ReadonlySet<string> = new Set([
  "arguments",
  "call_id",
  "content",
  "custom",
  "function",
  "function_call",
  "id",
  "input",
  "is_error",
  "name",
  "output",
  "phase",
  "reasoning_content",
  "refusal",
  "role",
  "signature",
  "status",
  "summary",
  "text",
  "thinking",
  "tool_call_id",
  "tool_calls",
  "tool_use_id",
  "type",
]);

/** A member of a message, an item or a part that is not a part itself. */
function visitField(name: string, value: unknown, visitor: PromptVisitor): void {
  if (!envelopeNames.has(name)) visitMember(name, value, visitor);
  else if (typeof value !== "string") visitValue(value, visitor);
  else if ((name === "role" || name === "type") && isWord(value)) visitor.word(value);
  else visitor.text(value);
}

/** The longest word that a protocol has for a kind: `code_execution_tool_result_error` and the like. */
const wordCharactersMax = 40;

function isWord(value: unknown): boolean {
  return typeof value === "string" && value.length <= wordCharactersMax;
}

/** Members that a provider encrypted for itself, by the type of their part or item. */
const sealedMembers: Readonly<Record<string, string>> = {
  reasoning: "encrypted_content",
  compaction: "encrypted_content",
  thinking: "signature",
  redacted_thinking: "data",
};

function isSealed(type: unknown, name: string): boolean {
  return typeof type === "string" && Object.hasOwn(sealedMembers, type) && sealedMembers[type] === name;
}

/** A message, or another item of a conversation: its members count, and its parts as what they are. */
function visitItem(item: unknown, form: PromptForm, visitor: PromptVisitor): void {
  if (!isRecord(item)) {
    visitValue(item, visitor);
    return;
  }
  visitor.tokens += messageTokens;
  if (form.items === undefined || form.items.has(item.type)) {
    visitMembersOfItem(item, form, visitor);
    return;
  }
  visitor.isOpenEnded = true;
  searchAddress(item, visitor, () => visitMembersOfItem(item, form, visitor));
}

function visitMembersOfItem(item: Record<string, unknown>, form: PromptForm, visitor: PromptVisitor): void {
  for (const name in item) {
    const value = item[name];
    if (value === null || value === undefined) continue;
    // A role and a kind are words of a fixed list, which the tokens of their message cover.
    if ((name === "role" || name === "type") && isWord(value)) continue;
    if (form.partsMembers.has(name)) visitParts(value, form, visitor);
    else if (name === "tool_calls" && Array.isArray(value)) for (const call of value) visitCall(call, visitor);
    else if (typeof value === "string" && isSealed(item.type, name)) visitor.sealed(value);
    else {
      if (name === "audio" && form.hasAudioAnswers) visitor.audioAnswers++;
      visitField(name, value, visitor);
    }
  }
}

/** A tool call of chat, whose function or custom tool is an object of its own. */
function visitCall(call: unknown, visitor: PromptVisitor): void {
  if (!isRecord(call)) {
    visitValue(call, visitor);
    return;
  }
  for (const name in call) {
    const value = call[name];
    const isCalled = (name === "function" || name === "custom") && isRecord(value);
    if (isCalled) for (const field in value) visitField(field, value[field], visitor);
    else visitField(name, value, visitor);
  }
}

function visitMember(name: string, value: unknown, visitor: PromptVisitor): void {
  if (name === "$ref") visitor.hasReference = true;
  if (lifetimeFields.has(name) && isRecord(value)) {
    if (getWriteMeter(value.ttl) !== "cacheWriteToken") visitor.keepsLonger = true;
    if (name !== "prompt_cache_options") visitor.hasMarks = true;
    if (name === "cache_control" && isMark(value)) return;
  }
  visitor.inJson(name, 3);
  visitValue(value, visitor);
}

/** Whether a value is a cache mark and nothing else. */
function isMark({ type, ttl, ...others }: Record<string, unknown>): boolean {
  for (const _ in others) return false;
  return isWord(type) && (ttl === undefined || isWord(ttl));
}

/** A value of a free form, as JSON: nesting is bounded where bodies are read. */
function visitValue(value: unknown, visitor: PromptVisitor): void {
  if (typeof value === "string") visitor.inJson(value, 3);
  else if (typeof value === "number") visitor.number(value);
  else if (typeof value !== "object" || value === null) visitor.punctuation(6);
  else {
    visitor.punctuation(3);
    if (Array.isArray(value)) for (const member of value) visitValue(member, visitor);
    else for (const name in value) visitMember(name, value[name as keyof typeof value], visitor);
  }
}

function visitParts(value: unknown, form: PromptForm, visitor: PromptVisitor): void {
  if (typeof value === "string") visitor.text(value);
  else if (Array.isArray(value)) for (const part of value) visitPart(part, form, visitor);
  // A screenshot stands alone.
  else if (form.hasSingleParts) visitPart(value, form, visitor);
  else visitValue(value, visitor);
}

function visitPart(part: unknown, form: PromptForm, visitor: PromptVisitor): void {
  if (!isRecord(part)) {
    visitValue(part, visitor);
    return;
  }
  const { type } = part;
  const kinds = form.parts;
  const kind = typeof type === "string" && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind === undefined) visitor.isOpenEnded = true;
  const visit = () => visitMembersOfPart(part, { kind, form }, visitor);
  if (kind === "text" || kind === "parts") visit();
  else searchAddress(part, visitor, visit);
}

function visitMembersOfPart(
  part: Record<string, unknown>,
  { kind, form }: { kind: PromptPartKind | undefined; form: PromptForm },
  visitor: PromptVisitor,
): void {
  const { type } = part;
  for (const name in part) {
    const value = part[name];
    if (value === null || value === undefined) continue;
    if (kind === "image" && imageMembers.has(name)) visitImage(value, visitor, name);
    else if (kind === "audio" && name === "input_audio") visitAudio(value, form, visitor);
    else if (kind === "file" && (name === "source" || name === "file")) visitFile(value, form, visitor);
    else if (kind === "file" && form.files === "part") visitFileMember(name, value, visitor);
    else if (kind === "parts" && name === "content") visitParts(value, form, visitor);
    else if (typeof value === "string" && isSealed(type, name)) visitor.sealed(value);
    else visitField(name, value, visitor);
  }
  if (kind === "image") visitor.images++;
}

/**
 * Searches a part or an item for an address, then visits it. Parts may contain parts; each value is searched once,
 * however deep it is.
 */
function searchAddress(whole: Record<string, unknown>, visitor: PromptVisitor, visit: () => void): void {
  if (visitor.isSearched) {
    visit();
    return;
  }
  visitor.hasAddress ||= holdsAddress(whole);
  visitor.isSearched = true;
  visit();
  visitor.isSearched = false;
}

/** Whether a part contains an address anywhere; a data URL is not one. */
function holdsAddress(value: unknown): boolean {
  if (typeof value === "string") return /^\s*(?!data:)[a-z][a-z0-9+.-]*:(?!\s)/i.test(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsAddress);
  for (const name in value) if (holdsAddress(value[name as keyof typeof value])) return true;
  return false;
}

/** Where a part that is an image has its bytes or its address: chat and Responses, and Messages. */
const imageMembers: ReadonlySet<string> = new Set(["image_url", "source", "file_id"]);
/** Images of one frame, by media type: what a decoder makes of them is bounded. */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|heic|heif|avif|bmp|tiff)$/i;
const imageDataUrl = /^data:image\/(?:png|jpe?g|gif|webp|heic|heif|avif|bmp|tiff)[;,]/i;
const address = /^https?:\/\//i;

/** The bytes of an image do not count as text. What is not an image of a known kind is bounded by the context alone. */
function visitImage(value: unknown, visitor: PromptVisitor, name: string): void {
  if (typeof value === "string") {
    if (imageDataUrl.test(value)) return;
    if (name !== "file_id" && !address.test(value)) visitor.isOpenEnded = true;
    visitor.text(value);
    return;
  }
  if (!isRecord(value)) {
    visitValue(value, visitor);
    return;
  }
  const isBase64 =
    name === "source" &&
    value.type === "base64" &&
    typeof value.media_type === "string" &&
    imageTypes.test(value.media_type);
  for (const [field, member] of Object.entries(value)) {
    if (field === "data" && isBase64 && typeof member === "string") continue;
    if (field === "data" && name === "source") visitor.isOpenEnded = true;
    if (field === "url") visitImage(member, visitor, field);
    else visitField(field, member, visitor);
  }
}

/** Audio counts by the longest that it can play; what is not measured, by the context. */
function visitAudio(value: unknown, form: PromptForm, visitor: PromptVisitor): void {
  if (!isRecord(value)) {
    visitValue(value, visitor);
    return;
  }
  const most = form.measuresAudio ? audioTokensMax(value as InputAudio["input_audio"]) : undefined;
  if (most === undefined) visitor.isOpenEnded = true;
  else visitor.audioTokens += most;
  for (const [name, member] of Object.entries(value)) {
    if (name === "data" && typeof member === "string") continue;
    visitField(name, member, visitor);
  }
}

/** A file whose text is sent along counts by its bytes. Any other can hold more than its bytes show. */
function visitFile(value: unknown, form: PromptForm, visitor: PromptVisitor): void {
  if (!isRecord(value)) {
    visitor.isOpenEnded = true;
    visitValue(value, visitor);
    return;
  }
  if (form.files === "source") {
    const isText = value.type === "text" && typeof value.data === "string";
    const isParts = value.type === "content";
    if (!isText && !isParts) visitor.isOpenEnded = true;
    for (const [name, member] of Object.entries(value)) {
      if (isParts && name === "content") visitParts(member, form, visitor);
      else if (name !== "data" || typeof member !== "string") visitField(name, member, visitor);
      else if (isText) visitor.text(member);
      // The bytes of any other document say nothing of its length.
    }
    return;
  }
  if (typeof value.file_data !== "string") visitor.isOpenEnded = true;
  for (const [name, member] of Object.entries(value)) visitFileMember(name, member, visitor);
}

function visitFileMember(name: string, value: unknown, visitor: PromptVisitor): void {
  const isText = name === "file_data" && typeof value === "string" && readTextUrl(value) !== undefined;
  if (isText) {
    visitor.text(value);
    return;
  }
  if (name === "file_data" || name === "file_url" || name === "file_id" || name === "id") visitor.isOpenEnded = true;
  if (name !== "file_data" || typeof value !== "string") visitField(name, value, visitor);
}
