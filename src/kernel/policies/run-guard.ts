/**
 * The door for policies in a run: one look before admission, and one between the provider's answer and the client. A run without
 * policies has no guard.
 */
import { type Capability, GatewayError, type PolicyDetail } from "../../contract/index.ts";
import type { ChatCompletion, EmbeddingsBody, PolicyContext, PolicyText } from "../../provider/index.ts";
import type { ChatSink, ClientCall, Guard, ModelRun } from "../call.ts";
import { toChatUsage } from "../normalize/usage-meter.ts";
import { priceOfRun } from "../service-tier.ts";
import { recordOwed } from "../settlement.ts";
import type { Kernel } from "../types.ts";
import { GuardedSink } from "./guarded-sink.ts";
import type { Looked, Looks } from "./held-text.ts";
import type { AppliedPolicy } from "./policy-rules.ts";
import { readTexts, type TextsOf, withTexts } from "./policy-texts.ts";
import { type PolicyOutcome, runPolicy } from "./run-policy.ts";

/** Ends an answer as a refusal. */
class AnswerDenied extends Error {}

/** Capabilities whose answers have text. */
const writtenAnswers: ReadonlySet<Capability> = new Set([
  "chat",
  "images",
  "imageEdits",
  "transcription",
  "translation",
]);
/** More are added to the last: policies have few labels. */
const recordsMax = 20;

type Phase = PolicyDetail["phase"];

/** The policies of a run. */
export class RunGuard implements Guard {
  readonly sink: GuardedSink | undefined;
  hasReplaced = false;
  readonly #call: ClientCall;
  readonly #applied: readonly AppliedPolicy[];
  readonly #model: string;
  readonly #now: () => number;
  readonly #records = new Map<string, PolicyDetail>();

  constructor(
    call: ClientCall,
    { model, applied, now }: { model: string; applied: readonly AppliedPolicy[]; now: () => number },
  ) {
    this.#call = call;
    this.#applied = applied;
    this.#model = model;
    this.#now = now;
    const { sink, capability } = call.request;
    if (sink !== undefined && capability === "chat") {
      const answering = applied.filter(({ policy }) => policy?.answer !== undefined);
      this.sink = new GuardedSink(sink as ChatSink, {
        holds: answering.map((one) => ({
          looksAt: (at) => this.#looksAt(one, at),
          chars: one.policy?.holdBackChars ?? 0,
        })),
        check: (value, of) => this.#apply("answer", value, of),
      });
    }
  }

  get records(): readonly PolicyDetail[] {
    return [...this.#records.values()];
  }

  /**
   * Looks at the request of the run, and replaces its texts.
   *
   * @throws {GatewayError} `content_policy_violation`; `unavailable` where a closed policy failed; `invalid_request` for a request
   * whose text cannot be seen.
   */
  async checkRequest<C extends Capability>(run: ModelRun<C>): Promise<void> {
    const { passthrough, capability } = this.#call.request;
    if (passthrough?.untranslatable !== undefined) throw passthrough.untranslatable;
    for (const loss of passthrough?.losses ?? []) run.noteLoss(loss);
    if (capability === "embeddings") expectText(run.request as EmbeddingsBody);
    run.request = await this.#apply("request", run.request, { role: "user" });
  }

  /** Waits for the answer, and looks at a whole one. A stream was looked at in {@link sink}. */
  async checkAnswer<Answer>(kernel: Kernel, run: ModelRun, answering: Promise<Answer>): Promise<Answer> {
    const { capability } = this.#call.request;
    try {
      const answer = await answering;
      if (typeof answer !== "object" || answer === null || !writtenAnswers.has(capability)) return answer;
      const checked = await this.#apply("answer", answer, { role: "assistant" });
      return capability === "chat" ? (withoutLogprobs(checked as ChatCompletion) as Answer) : checked;
    } catch (error) {
      if (!(error instanceof AnswerDenied)) throw error;
      if (capability !== "chat")
        throw new GatewayError("content_policy_violation", "A policy of this gateway refused the answer");
      run.answer.finishReasons = ["content_filter"];
      if (this.sink === undefined) return toRefusal((await answering) as ChatCompletion) as Answer;
      await this.#endStream(kernel, run as ModelRun<"chat">, this.sink);
      return undefined as Answer;
    }
  }

  /** Ends a stream whose provider is still sending. It owes what came. */
  async #endStream(kernel: Kernel, run: ModelRun<"chat">, sink: GuardedSink): Promise<void> {
    const { usageMeter, attempt } = run;
    attempt?.abort();
    recordOwed(kernel, run, undefined, true);
    await sink.refuse();
    if (run.request.stream_options?.include_usage !== true) return;
    const count = await usageMeter.count();
    await sink.writeUsage(toChatUsage(undefined, count, priceOfRun(run, count.meters)));
  }

  /** Has all policies look at all texts of a value, one after the other. */
  async #apply<Value extends object>(phase: Phase, value: Value, of: TextsOf): Promise<Value> {
    let current = value;
    for (const applied of this.#applied) {
      const texts = readTexts(current, of);
      const outcome = await this.#run(applied, phase, { texts, isWhole: true });
      this.#record(applied, phase, outcome);
      if (outcome.result === "replace") {
        if (phase === "request") this.hasReplaced = true;
        current = withTexts(current, of, ({ path, text }) => outcome.texts.get(path) ?? text);
      } else if (outcome.result === "deny" || (outcome.result === "failed" && applied.onFailure === "closed")) {
        throw phase === "answer" ? new AnswerDenied() : toRequestError(applied, outcome);
      }
    }
    return current;
  }

  #run(
    { policy }: AppliedPolicy,
    phase: Phase,
    { texts, isWhole }: { texts: readonly PolicyText[]; isWhole: boolean },
  ): Promise<PolicyOutcome> {
    const { caller, protocol, tag, endUser, session } = this.#call.request;
    const context: Omit<PolicyContext, "signal"> = {
      isWhole,
      model: this.#model,
      protocol,
      account: caller.accountId,
      key: caller.keyId,
      tag,
      endUser: endUser ?? caller.token?.endUser,
      session,
    };
    return runPolicy(policy, phase, { texts, context, now: this.#now });
  }

  /** @param adds Whether its count is added to an equal record. */
  #record(
    { name }: AppliedPolicy,
    phase: Phase,
    outcome: Pick<PolicyOutcome, "result" | "label" | "count">,
    adds = true,
  ) {
    const { result, label, count } = outcome;
    const isFull = this.#records.size >= recordsMax;
    const key = isFull ? "" : `${name} ${phase} ${result} ${label ?? ""}`;
    const before = this.#records.get(key);
    if (before === undefined) this.#records.set(key, { policy: name, phase, result, label, count });
    else if (adds) this.#records.set(key, { ...before, count: before.count + count });
  }

  /** The looks of a policy at one text of a stream. */
  #looksAt(applied: AppliedPolicy, at: Omit<PolicyText, "text">): Looks {
    const isClosed = applied.onFailure === "closed";
    const end = (outcome: Pick<PolicyOutcome, "result" | "label" | "count">) => {
      this.#record(applied, "answer", outcome);
      return new AnswerDenied();
    };
    return {
      look: async (text): Promise<Looked> => {
        const outcome = await this.#run(applied, "answer", { texts: [{ ...at, text }], isWhole: false });
        const { result, count, label } = outcome;
        if (result === "replace") return { text: outcome.texts.get(at.path) ?? text, isDenied: false, count, label };
        if (result === "failed" && isClosed) throw end(outcome);
        // Windows overlap, so what is only noted is not added up.
        if (result !== "deny") this.#record(applied, "answer", outcome, false);
        return { text, isDenied: result === "deny", count, label };
      },
      onReplace: ({ count, label }) => this.#record(applied, "answer", { result: "replace", count, label }),
      deny: ({ count, label }) => end({ result: "deny", count, label }),
      denyHeld: () => {
        const outcome = { result: "failed", label: "held_too_long", count: 1 } as const;
        if (isClosed) return end(outcome);
        this.#record(applied, "answer", outcome);
        return undefined;
      },
    };
  }
}

function toRequestError({ name }: AppliedPolicy, outcome: PolicyOutcome): GatewayError {
  if (outcome.result === "deny") {
    const message = outcome.message ?? `The request is against the policy '${name}' of this gateway; change its text`;
    return new GatewayError("content_policy_violation", message);
  }
  return new GatewayError("unavailable", `The policy '${name}' could not look at the request; send it again later`);
}

/** Lists of tokens are text that no policy can read. @throws {GatewayError} `invalid_request` */
function expectText({ input }: EmbeddingsBody): void {
  const isOfTokens = (value: unknown) => typeof value === "number" || (Array.isArray(value) && value.length > 0);
  if (!Array.isArray(input) || !input.some(isOfTokens)) return;
  const message = "input has tokens, which the policies of this gateway cannot read; send texts";
  throw new GatewayError("invalid_request", message, { param: "input" });
}

/** Probabilities repeat the text by its tokens. */
function withoutLogprobs(completion: ChatCompletion): ChatCompletion {
  return { ...completion, choices: completion.choices.map((choice) => ({ ...choice, logprobs: null })) };
}

function toRefusal(completion: ChatCompletion): ChatCompletion {
  const message = { role: "assistant", content: "", refusal: null } as const;
  const choices = completion.choices.map(({ index }) => {
    return { index, message, logprobs: null, finish_reason: "content_filter" as const };
  });
  return { ...completion, choices };
}
