import { type Fleet, type Payer, patienceMs, places } from "./fleet.ts";
import { numbersMax, outputTokensMax, questionOf, usageOf } from "./numbers.ts";

/** A call as its client saw it. */
export interface Call {
  readonly number: number;
  readonly payer: Payer;
  readonly place: number;
  readonly begunMs: number;
  readonly endedMs: number;
  /** 0: no answer, or one that broke off. */
  readonly status: number;
  /** The code of an error. */
  readonly code: string | undefined;
  /** The id that the answer bore, from its head. */
  readonly id: string | undefined;
  /** Whether the client has the answer to its last byte. */
  readonly isDelivered: boolean;
}

/** Each caller has one call at a time, and pauses for so long. */
const pauseMs = 300;
/** A series of refusals of the database after which readiness is compared with what calls get. */
const refusalsMin = 4;
/** Looks at a gateway that all find it ready, each after a call that was refused: more than the change of a state explains. */
const looksMax = 5;
const lookPauseMs = 100;
/** Clocks are wrong by less. */
const clockMsMax = 120_000;
const dayOf = (ms: number) => Math.floor(ms / 86_400_000);

/** Clients that ask in turn all gateways, on and on, whole answers and streams. */
export class Callers {
  readonly calls: Call[] = [];
  /** What was seen of gateways that said they were ready, and refused calls. */
  readonly falselyReady: string[] = [];
  /** Readiness was compared with refusals so often. */
  comparisons = 0;
  readonly #fleet: Fleet;
  readonly #comparesReadiness: boolean;
  readonly #refusals: number[] = Array(places).fill(0);
  readonly #running: Promise<void>[] = [];
  #numbers = 0;
  readonly #payers: Payer[] = [];
  readonly #begunAt = Date.now();
  #isOver = false;

  constructor(fleet: Fleet, { comparesReadiness }: { comparesReadiness: boolean }) {
    this.#fleet = fleet;
    this.#comparesReadiness = comparesReadiness;
  }

  start(payers: readonly Payer[]): void {
    for (const payer of payers) {
      this.#payers.push(payer);
      this.#running.push(this.#ask(payer));
    }
  }

  /** How many callers ask for this payer. */
  countOf(payer: Payer): number {
    return this.#payers.filter(({ keyId }) => keyId === payer.keyId).length;
  }

  /** Whether all was on one day, also by a clock that is wrong. */
  get isOfOneDay(): boolean {
    return dayOf(this.#begunAt - clockMsMax) === dayOf(Date.now() + clockMsMax);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #ask(payer: Payer): Promise<void> {
    for (let turn = this.#running.length; !this.#isOver; turn++) {
      const { place, status, code } = await this.call(payer, turn % places);
      if (status === 200) this.#refusals[place] = 0;
      if (status === 503 && code === "unavailable") await this.#onRefusal(place, payer);
      await Bun.sleep(pauseMs);
    }
  }

  /** A gateway that refuses call after call is not ready. */
  async #onRefusal(place: number, payer: Payer): Promise<void> {
    const refusals = (this.#refusals[place] ?? 0) + 1;
    this.#refusals[place] = refusals;
    if (refusals !== refusalsMin || !this.#comparesReadiness) return;
    this.comparisons++;
    for (let look = 0; look < looksMax; look++) {
      const { status, code } = await this.call(payer, place);
      if (status !== 503 || code !== "unavailable") return;
      const origin = this.#fleet.gateways[place]?.origin;
      const ready = await fetch(`${origin}/readyz`).catch(() => undefined);
      if (ready?.status !== 200) return;
      await Bun.sleep(lookPauseMs);
    }
    this.falselyReady.push(`Gateway ${place} said that it was ready, and refused ${looksMax} calls in turn`);
  }

  /** Makes one call. Never rejects. */
  async call(payer: Payer, place: number): Promise<Call> {
    const number = ++this.#numbers;
    if (number >= numbersMax) throw new Error(`More than ${numbersMax} calls: their usage names them no more`);
    const begunMs = performance.now();
    const seen = await send({ origin: this.#fleet.gateways[place]?.origin, payer, number });
    const call = { number, payer, place, begunMs, endedMs: performance.now(), ...seen };
    this.calls.push(call);
    return call;
  }
}

type Seen = Pick<Call, "status" | "code" | "id" | "isDelivered">;
const nothing: Seen = { status: 0, code: undefined, id: undefined, isDelivered: false };

async function send(call: { origin: string | undefined; payer: Payer; number: number }): Promise<Seen> {
  const { origin, payer, number } = call;
  if (origin === undefined) return nothing;
  const isStream = number % 2 === 0 || number % 5 === 0;
  let id: string | undefined;
  try {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: payer.model,
        max_tokens: outputTokensMax,
        messages: [{ role: "user", content: questionOf(number) }],
        ...(isStream && { stream: true, stream_options: { include_usage: true } }),
      }),
      // A connection of its own: one that is reused may be asked again by the client when it is closed, unseen by us.
      keepalive: false,
      signal: AbortSignal.timeout(patienceMs),
    });
    id = response.headers.get("x-request-id") ?? undefined;
    const text = await response.text();
    const code = /"code":\s*"([^"]+)"/.exec(text)?.[1];
    const isDelivered = response.status === 200 && isWhole(text, isStream, number);
    return { status: response.status === 200 && !isDelivered ? 0 : response.status, code, id, isDelivered };
  } catch (error) {
    if ((error as Error).name === "TimeoutError") return { ...nothing, id, code: "hangs" };
    return { ...nothing, id };
  }
}

/** The last byte of an answer is that of `[DONE]`, or of a body that is JSON; both carry what the provider said. */
function isWhole(text: string, isStream: boolean, number: number): boolean {
  if (isStream && (!text.endsWith("data: [DONE]\n\n") || text.includes('"error"'))) return false;
  try {
    const { usage } = JSON.parse(isStream ? (text.split("\n\n").at(-3) as string).slice("data: ".length) : text);
    const { prompt_tokens, completion_tokens } = usageOf(number);
    return usage.prompt_tokens === prompt_tokens && usage.completion_tokens === completion_tokens;
  } catch {
    return false;
  }
}
