/**
 * The effect of prompt caches on the cost of a call: how much they saved, and why they gave less than the session's last turn
 * promised. The prompt is hashed while the provider is waited for, and nothing of it delays or fails a call.
 */
import {
  type CacheEffect,
  type CacheMiss,
  type CompiledPrice,
  costNanodollars,
  isLoss,
  type MeterName,
  type Meters,
  randomText,
  type StoredTurn,
  sumPromptTokens,
} from "../contract/index.ts";
import { nextTurn } from "../lib/next-turn.ts";
import type { Model } from "../provider/index.ts";
import type { ModelRun } from "./call.ts";
import { hashBlocks, type PromptBlocks, type PromptProtocol } from "./prompt-cache/blocks.ts";
import { type EndedTurn, explainRead } from "./prompt-cache/explain.ts";
import { decodeTurn, encodeTurn, type Turn } from "./prompt-cache/turn.ts";
import { cacheOwnerOf } from "./routing/circuits.ts";
import type { Route } from "./routing/registry.ts";
import type { Kernel, PromptTurns } from "./types.ts";

/** Conversations of one session that are kept, as of subagents; the one that was silent longest makes room. */
const conversationsMax = 8;
const conversationIdLength = 6;
/**
 * How long a provider keeps a prompt that names no lifetime, in seconds: OpenAI, which has a price for twelve hours, for half an hour,
 * others for five minutes.
 */
const lifetimeSeconds = { longer: 1800, default: 300 };
/** The shortest prompt that a provider keeps, in tokens, where the row does not say it. */
const cacheTokensMinDefault = 1024;

/** Routes whose provider reports what it read from its cache. Some leave the figure out where that is nothing. */
const reporting = new WeakSet<Route>();

/** The prompt of a run that is compared with the last turns of its session. */
export class PromptWatch {
  readonly #turns: PromptTurns;
  readonly #run: ModelRun;
  readonly #session: string;
  readonly #blocks: Promise<PromptBlocks | undefined>;
  /** The turns before it, once they are there. */
  #earlier: readonly StoredTurn[] | undefined;

  /** Begins to read and to hash, unless there is nothing to compare: the request has no session, or the price no rate of caches. */
  static begin({ promptTurns }: Pick<Kernel, "promptTurns">, run: ModelRun): PromptWatch | undefined {
    const { session, capability, original, passthrough } = run.call.request;
    const isCompared =
      // A request to compact a conversation is no turn of it.
      (original !== undefined || passthrough === undefined) &&
      session !== undefined &&
      capability === "chat" &&
      original?.format.protocol !== "decisions" &&
      run.modelEntry.model.price?.cacheReadToken !== undefined &&
      run.requestsHeld === 1;
    return isCompared && promptTurns !== undefined ? new PromptWatch(promptTurns, run) : undefined;
  }

  private constructor(turns: PromptTurns, run: ModelRun) {
    this.#turns = turns;
    this.#run = run;
    this.#session = turns.hash(cacheOwnerOf(run.call.request) ?? "", turns.secret).toString(36);
    const earlier = turns.store.read(this.#session);
    if (!(earlier instanceof Promise)) this.#earlier = earlier;
    else
      void earlier.then((stored) => {
        this.#earlier = stored;
      });
    this.#blocks = this.#hash();
  }

  /** In the next turn of the event loop, when the request is on its way. */
  async #hash(): Promise<PromptBlocks | undefined> {
    await nextTurn();
    const { original, body } = this.#run.call.request;
    const protocol = original === undefined ? "chat" : (original.format.protocol as PromptProtocol);
    const request = original?.body ?? (body as unknown as Record<string, unknown>);
    return hashBlocks(protocol, request, this.#turns).catch(() => undefined);
  }

  /** Compares the prompt with the turns before it by what its provider reported, and keeps it for the next. */
  async end(meters: Meters): Promise<CacheMiss | undefined> {
    const { usageMeter, attempt } = this.#run;
    const blocks = await this.#blocks;
    if (attempt === undefined || blocks === undefined) return undefined;
    const { route } = attempt;
    if (usageMeter.reportsReads) reporting.add(route);
    if (!reporting.has(route)) return undefined;
    const stored = this.#earlier;
    // The store has not answered in time.
    if (stored === undefined) return undefined;
    const { openedAt } = this.#run.call.request;
    const turns = stored.flatMap((one) => {
      const turn = decodeTurn(one.bytes);
      return turn === undefined ? [] : [{ id: one.id, turn }];
    });
    // A turn that had not begun to be answered when this request came could not be read.
    const earlier = turns.filter(({ turn }) => turn.at <= openedAt);
    const ended = this.#describe(blocks, meters);
    const { miss, continued } = explainRead(
      ended,
      earlier.map(({ turn }) => turn),
    );
    this.#keep(ended, meters, { turns, continued: continued === undefined ? undefined : earlier[continued]?.id });
    return turns.length > 0 && earlier.length === 0 ? undefined : miss;
  }

  #describe(blocks: PromptBlocks, meters: Meters): EndedTurn {
    const { call, attempt } = this.#run;
    const model = attempt?.route.model as Model;
    const { hash, secret } = this.#turns;
    const route = `${attempt?.route.plugin.name}\n${model.id}\n${attempt?.key?.key ?? ""}`;
    return {
      blocks,
      openedAt: call.request.openedAt,
      promptTokens: sumPromptTokens(meters),
      readTokens: sumOf(meters, readMeters),
      model: hash(model.id, secret),
      route: hash(route, secret),
      tokensMin: model.cacheTokensMin ?? cacheTokensMinDefault,
    };
  }

  #keep(
    { blocks, promptTokens, readTokens, model, route, openedAt }: EndedTurn,
    meters: Meters,
    { turns, continued }: { turns: readonly { id: string; turn: Turn }[]; continued: string | undefined },
  ): void {
    const { usageMeter, firstByteMs = 0, modelEntry } = this.#run;
    const { cacheWriteToken, cacheWrite12hToken } = modelEntry.model.price ?? {};
    const inCache = readTokens + sumOf(meters, writeMeters);
    // Where writing has a price, nothing is kept that nobody marked. A mark without a report is believed.
    const isTold = usageMeter.reportsWrites && (inCache > 0 || (cacheWriteToken !== undefined && !blocks.hasMarks));
    const keptSeconds = cacheWrite12hToken === undefined ? lifetimeSeconds.default : lifetimeSeconds.longer;
    const bytes = encodeTurn({
      at: openedAt + firstByteMs,
      protocol: blocks.protocolNumber,
      promptTokens,
      cachedTokens: isTold ? inCache : promptTokens,
      estimatedTokens: blocks.estimatedTokens,
      lifetimeSeconds: blocks.lifetimeSeconds ?? keptSeconds,
      model,
      route,
      settings: blocks.settings,
      hashes: blocks.hashes,
      tokens: blocks.tokens,
      kinds: blocks.kinds,
    });
    const others = turns.filter(({ id }) => id !== continued).sort((one, other) => other.turn.at - one.turn.at);
    const dropped = others.slice(conversationsMax - 1).map(({ id }) => id);
    this.#turns.store.write(this.#session, { id: continued ?? randomText(conversationIdLength), bytes }, dropped);
  }
}

const readMeters = ["cacheReadToken", "audioCacheReadToken"] as const;
/** The most expensive first. The part of a prompt that is kept longest comes first, too. */
const writeMeters = ["cacheWrite12hToken", "cacheWrite1hToken", "cacheWriteToken"] as const;

function sumOf(meters: Meters, names: readonly MeterName[]): number {
  return names.reduce((sum, name) => sum + (meters[name] ?? 0), 0);
}

/**
 * The effect of caches on a call that its provider reported: the miss by the provider's own word, if it has one, or by the comparison
 * with the session's last turns.
 */
export function readCacheEffect(
  run: ModelRun,
  watch: PromptWatch | undefined,
  charge: Charge,
): CacheEffect | undefined | Promise<CacheEffect | undefined> {
  const isWhole = run.failure === undefined && run.owedRequests.length === 1;
  if (watch === undefined || !isWhole) return toEffect(run, undefined, charge);
  return watch.end(charge.meters).then((compared) => toEffect(run, compared, charge));
}

interface Charge {
  readonly meters: Meters;
  readonly price: CompiledPrice | undefined;
}

function toEffect(run: ModelRun, compared: CacheMiss | undefined, { meters, price }: Charge): CacheEffect | undefined {
  const miss = bound(withReport(compared, run), meters);
  const savedNanodollars = price && costOfReads(price, meters);
  if (miss === undefined) return savedNanodollars === undefined ? undefined : { savedNanodollars };
  const lostNanodollars = price && isLoss(miss.kind) ? costOfMiss(price, meters, miss.tokens) : undefined;
  return { miss, lostNanodollars, savedNanodollars };
}

/** The provider knows best why it missed; the place is known here alone. */
function withReport(compared: CacheMiss | undefined, { answer }: ModelRun): CacheMiss | undefined {
  const { kind, tokens } = answer.cacheReport ?? {};
  if (kind === undefined) return compared;
  const missed = tokens ?? compared?.tokens;
  if (missed === undefined || missed === 0) return compared;
  return { kind, tokens: missed, ...(compared?.kind === kind && { place: compared.place }) };
}

/** Not more was missed than was charged as not read. */
function bound(miss: CacheMiss | undefined, meters: Meters): CacheMiss | undefined {
  if (miss === undefined) return undefined;
  const tokens = Math.min(miss.tokens, sumPromptTokens(meters) - sumOf(meters, readMeters));
  return tokens > 0 ? { ...miss, tokens } : undefined;
}

/** Amount that reads from a cache saved: the call would have cost so much more if they had been input. */
function costOfReads(price: CompiledPrice, meters: Meters): number | undefined {
  const { cacheReadToken = 0, audioCacheReadToken = 0, ...others } = meters;
  if (cacheReadToken + audioCacheReadToken === 0) return undefined;
  const unread: Meters = { ...others, inputToken: (meters.inputToken ?? 0) + cacheReadToken };
  if (audioCacheReadToken > 0) unread.audioInputToken = (meters.audioInputToken ?? 0) + audioCacheReadToken;
  return difference(costNanodollars(price, unread), costNanodollars(price, meters));
}

/** Cost of a miss: the call would have cost so much less if the missed tokens had been read, and not written or taken as input. */
function costOfMiss(price: CompiledPrice, meters: Meters, tokens: number): number | undefined {
  const read: Meters = { ...meters };
  let left = tokens;
  for (const name of [...writeMeters, "inputToken"] as const) {
    const moved = Math.min(left, meters[name] ?? 0);
    if (moved > 0) read[name] = (meters[name] ?? 0) - moved;
    left -= moved;
  }
  read.cacheReadToken = (meters.cacheReadToken ?? 0) + tokens - left;
  return difference(costNanodollars(price, meters), costNanodollars(price, read));
}

function difference(more: number | undefined, less: number | undefined): number | undefined {
  return more === undefined || less === undefined || more <= less ? undefined : more - less;
}
