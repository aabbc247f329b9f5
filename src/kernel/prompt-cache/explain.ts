import type { CacheMiss } from "../../contract/index.ts";
import { fieldOf, namePlace, nameSetting, type PromptBlocks } from "./blocks.ts";
import { type BlockKind, blockKinds, type Turn } from "./turn.ts";

/** A turn that ended, as far as it is compared with the turns before it. */
export interface EndedTurn {
  readonly blocks: PromptBlocks;
  /** When its request came, milliseconds since 1970. */
  readonly openedAt: number;
  readonly promptTokens: number;
  /** Tokens of the prompt that the provider read from its cache. */
  readonly readTokens: number;
  readonly model: bigint;
  readonly route: bigint;
  /** The shortest prefix that the provider keeps, in tokens. */
  readonly tokensMin: number;
}

/** Providers keep prompts in pieces of up to so many tokens. */
const pieceTokens = 256;
/** The largest error of a prefix whose tokens are estimated, as a share of it. */
const estimateShare = 0.15;
/** Part of a turn's messages that is to come again, at any place, for a request to go on with it. */
const continuedShare = 0.5;

/** The common part of a turn and an earlier one. */
interface Comparison {
  readonly turn: Turn;
  /** Blocks of the common prefix, and how many tokens the provider counted in them, about. */
  readonly blocks: number;
  readonly tokens: number;
  /** All of the earlier prompt came again. */
  readonly isWhole: boolean;
  /** The request goes on with that turn's conversation, and is not another one of the same session, as of a subagent. */
  readonly isContinued: boolean;
}

/** Result of comparing a turn with the earlier ones of its session. */
export interface Explanation {
  /** Absent: as much was read as was to be expected. */
  readonly miss?: CacheMiss | undefined;
  /** The place among the earlier turns of the one that this turn goes on with; absent: it begins a conversation. */
  readonly continued?: number | undefined;
}

/** Says why less of a prompt was read from the cache than the turns before it in its session promised. */
export function explainRead(ended: EndedTurn, earlier: readonly Turn[]): Explanation {
  const comparisons = earlier.map((turn) => compare(ended, turn));
  const continued = findLast(comparisons, ({ isContinued }) => isContinued);
  if (continued !== undefined) {
    const place = comparisons.indexOf(continued);
    return { miss: explainContinued(ended, continued), continued: place };
  }
  // A new conversation of the session can read what it shares with others, such as tools, only on the same route.
  const shared = findLast(comparisons, ({ turn }) => turn.route === ended.route);
  return { miss: shared === undefined ? explainFirst(ended) : explainShared(ended, shared) };
}

/** The comparison with the longest common prefix; of equal ones on the same route, then the latest. */
function findLast(
  comparisons: readonly Comparison[],
  isWanted: (comparison: Comparison) => boolean,
): Comparison | undefined {
  let best: Comparison | undefined;
  for (const comparison of comparisons) {
    if (!isWanted(comparison)) continue;
    const isBetter =
      best === undefined ||
      comparison.blocks > best.blocks ||
      (comparison.blocks === best.blocks && comparison.turn.at > best.turn.at);
    if (isBetter) best = comparison;
  }
  return best;
}

function compare({ blocks: { protocolNumber, hashes } }: EndedTurn, turn: Turn): Comparison {
  const length = protocolNumber === turn.protocol ? Math.min(hashes.length, turn.hashes.length) : 0;
  let blocks = 0;
  let estimated = 0;
  while (blocks < length && hashes[blocks] === turn.hashes[blocks]) estimated += turn.tokens[blocks++] as number;
  const isWhole = blocks === turn.hashes.length;
  const tokens = isWhole ? turn.promptTokens : scale(turn, estimated);
  return { turn, blocks, tokens, isWhole, isContinued: isWhole || continues(hashes, turn) };
}

function scale({ promptTokens, estimatedTokens }: Turn, estimated: number): number {
  return estimatedTokens === 0 ? 0 : Math.floor((promptTokens * estimated) / estimatedTokens);
}

/** Whether most of a turn's messages are in the request, whatever precedes them now. */
function continues(hashes: BigUint64Array, turn: Turn): boolean {
  const present = new Set(hashes);
  let [all, again] = [0, 0];
  for (const [block, kind] of turn.kinds.entries()) {
    if (blockKinds[kind] !== "messages") continue;
    const tokens = turn.tokens[block] as number;
    all += tokens;
    if (present.has(turn.hashes[block] as bigint)) again += tokens;
  }
  return all > 0 && again >= continuedShare * all;
}

/** How much less than promised may be read without a reason. */
const slackOf = (tokens: number) => Math.max(pieceTokens, Math.floor(tokens / 20));

function explainFirst({ promptTokens, readTokens, tokensMin }: EndedTurn): CacheMiss | undefined {
  return readTokens < tokensMin ? { kind: "first_seen", tokens: promptTokens - readTokens } : undefined;
}

function explainShared(ended: EndedTurn, shared: Comparison): CacheMiss | undefined {
  const expected = Math.min(shared.tokens, shared.turn.cachedTokens);
  if (expected < ended.tokensMin) return explainFirst(ended);
  const missed = expected - ended.readTokens;
  if (missed <= Math.max(slackOf(expected), estimateShare * expected)) return undefined;
  if (isExpired(ended, shared.turn)) return { kind: "expired", tokens: missed };
  return explainSettings(ended, shared.turn, missed) ?? { kind: "provider", tokens: missed };
}

/** Follows a provider: it looks for the model first, then for the prefix, which must still be there. */
function explainContinued(ended: EndedTurn, comparison: Comparison): CacheMiss | undefined {
  const { blocks, readTokens, tokensMin } = ended;
  const { turn, isWhole } = comparison;
  const expected = Math.min(turn.promptTokens, ended.promptTokens);
  const missed = expected - readTokens;
  if (missed <= slackOf(expected)) return undefined;
  if (expected < tokensMin) return { kind: "below_minimum", tokens: missed };
  if (turn.model !== ended.model) return { kind: "model", tokens: missed };
  if (turn.route !== ended.route) return { kind: "other_route", tokens: missed };
  const changed = isWhole || comparison.blocks === blocks.hashes.length ? undefined : findChange(ended, comparison);
  const { tokens: common } = comparison;
  const isAllRead = readTokens >= common - Math.max(slackOf(common), estimateShare * common);
  if (changed !== undefined && (isAllRead || common < tokensMin)) return { ...changed, tokens: missed };
  if (isExpired(ended, turn)) return { kind: "expired", tokens: missed };
  const isUnmarked = turn.cachedTokens < expected - slackOf(expected);
  if (isUnmarked && readTokens >= turn.cachedTokens - slackOf(turn.cachedTokens)) {
    return { kind: "not_marked", tokens: missed };
  }
  const settings = explainSettings(ended, turn, missed);
  if (settings !== undefined) return settings;
  return changed === undefined ? { kind: "provider", tokens: missed } : { ...changed, tokens: missed };
}

function isExpired({ openedAt }: EndedTurn, { at, lifetimeSeconds }: Turn): boolean {
  return openedAt - at > lifetimeSeconds * 1000;
}

function explainSettings({ blocks }: EndedTurn, turn: Turn, tokens: number): CacheMiss | undefined {
  if (blocks.protocolNumber !== turn.protocol) return undefined;
  const index = blocks.settings.findIndex((setting, place) => setting !== turn.settings[place]);
  return index === -1 ? undefined : { kind: "settings", place: nameSetting(blocks.protocol, index), tokens };
}

/** The first block that is not as it was: it is another, it is new, or it is gone. */
function findChange(
  { blocks }: EndedTurn,
  { turn, blocks: common }: Comparison,
): Omit<CacheMiss, "tokens"> | undefined {
  const [now, before] = [blocks.kinds[common] as number, turn.kinds[common] as number];
  const kind = blockKinds[Math.min(now, before)] as BlockKind;
  const place = blocks.places[common];
  if (place === undefined) return undefined;
  const field = fieldOf(blocks.protocol, kind);
  // Where a block was removed, a block of the next kind is in its place, perhaps in the same list.
  if (now === Math.min(now, before) || place.field === field) return { kind, place: namePlace(place) };
  return {
    kind,
    place: namePlace({ field, index: turn.kinds.slice(0, common).filter((one) => one === before).length }),
  };
}
