/** The sink of a chat stream that policies look at. Texts pass through their hold-back, and everything else is looked at whole. */
import type { ChatUsage } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { ChatChunk, ChunkChoice, PolicyText, PolicyTextKind, ToolCall } from "../../provider/index.ts";
import type { ChatSink } from "../call.ts";
import { addCalls, joinPieces } from "../normalize/join-pieces.ts";
import { HeldText, type Looks } from "./held-text.ts";
import type { TextsOf } from "./policy-texts.ts";

type Delta = ChunkChoice["delta"];

/** Members that come in pieces, with the kind of their text. */
const streamedNames = {
  reasoning_content: "reasoning",
  content: "text",
  refusal: "text",
} as const satisfies Record<string, PolicyTextKind>;
type StreamedName = keyof typeof streamedNames;

interface GuardedSinkOptions {
  /** The policies that look at answers, each with its hold-back. */
  readonly holds: readonly { looksAt(at: Omit<PolicyText, "text">): Looks; readonly chars: number }[];
  /** Looks at a value that is there as a whole, and returns it with its texts replaced. */
  check<Value extends object>(value: Value, of: TextsOf): Promise<Value>;
}

/** One choice of the stream. */
interface ChoiceState {
  /** The text of each member that is held back, for each policy. */
  readonly stages: Map<StreamedName, readonly HeldText[]>;
  /** The member whose text came last. */
  open: StreamedName | undefined;
  /** Tool calls, whose arguments say nothing before they are whole. */
  readonly calls: ToolCall[];
  called: unknown;
  hasFinished: boolean;
}

export class GuardedSink implements ChatSink {
  readonly #sink: ChatSink;
  readonly #options: GuardedSinkOptions;
  readonly #choices = new Map<number, ChoiceState>();
  /** The last chunk, without its choices. */
  #head: Omit<ChatChunk, "choices"> = {};
  #writing: Promise<void> = Promise.resolve();

  constructor(sink: ChatSink, options: GuardedSinkOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  open(): void {
    this.#sink.open();
  }

  /** Chunks are looked at one after the other. */
  write(chunk: ChatChunk): Promise<void> {
    this.#writing = this.#writing.then(() => this.#take(chunk));
    return this.#writing;
  }

  pass(): never {
    throw new TypeError("An event in the client's own format goes around the policies");
  }

  /** Ends the choices that have not ended, as refused. Text that is held back is dropped. */
  async refuse(): Promise<void> {
    for (const [index, state] of this.#choices) {
      if (!state.hasFinished) await this.#send({ index, delta: {}, logprobs: null, finish_reason: "content_filter" });
    }
  }

  async writeUsage(usage: ChatUsage): Promise<void> {
    await this.#sink.write({ ...this.#head, choices: [], usage });
  }

  async #take({ choices, ...head }: ChatChunk): Promise<void> {
    this.#head = head;
    if (choices.length === 0) await this.#sink.write({ ...head, choices });
    for (const choice of choices) await this.#takeChoice(choice);
  }

  async #takeChoice({ index, delta, finish_reason: finish, stop_sequence: stop }: ChunkChoice): Promise<void> {
    const state = this.#stateOf(index);
    const { tool_calls: calls, function_call: called, role, ...rest } = delta;
    // Each choice begins with its role alone.
    if (role !== undefined) await this.#send({ index, delta, logprobs: null, finish_reason: null });
    addCalls(state.calls, calls ?? []);
    state.called = joinPieces(state.called, called);
    for (const [name, value] of Object.entries(rest)) {
      if (value === null || value === undefined || value === "") continue;
      if (name in streamedNames) await this.#takeText(index, state, name as StreamedName, String(value));
      else
        await this.#takeWhole(index, state, { [name]: name === "reasoning_details" ? withoutRepeats(value) : value });
    }
    if (!finish) return;
    await this.#flush(index, state);
    const whole = state.calls.flatMap((call, at) => ({ index: at, ...call }));
    if (whole.length > 0) await this.#takeWhole(index, state, { tool_calls: whole });
    if (isRecord(state.called)) await this.#takeWhole(index, state, { function_call: state.called });
    state.hasFinished = true;
    const beside = stop === undefined ? {} : { stop_sequence: stop };
    await this.#send({ index, delta: {}, logprobs: null, finish_reason: finish, ...beside });
  }

  async #takeText(index: number, state: ChoiceState, name: StreamedName, text: string): Promise<void> {
    if (state.open !== name) await this.#flush(index, state);
    state.open = name;
    let passed = text;
    for (const stage of this.#stagesOf(index, state, name)) passed = passed === "" ? "" : await stage.push(passed);
    await this.#sendText(index, name, passed);
  }

  /** Sends what is held back of the last text, which something else follows. */
  async #flush(index: number, state: ChoiceState): Promise<void> {
    const { open: name } = state;
    state.open = undefined;
    if (name === undefined) return;
    let passed = "";
    for (const stage of this.#stagesOf(index, state, name)) {
      const more = passed === "" ? "" : await stage.push(passed);
      passed = more + (await stage.flush());
    }
    await this.#sendText(index, name, passed);
  }

  async #takeWhole(index: number, state: ChoiceState, delta: Delta): Promise<void> {
    await this.#flush(index, state);
    const of = { path: pathOf(index), role: "assistant" } as const;
    await this.#send({ index, delta: await this.#options.check(delta, of), logprobs: null, finish_reason: null });
  }

  async #sendText(index: number, name: StreamedName, text: string): Promise<void> {
    if (text !== "") await this.#send({ index, delta: { [name]: text }, logprobs: null, finish_reason: null });
  }

  async #send(choice: ChunkChoice): Promise<void> {
    await this.#sink.write({ ...this.#head, choices: [choice] });
  }

  #stagesOf(index: number, state: ChoiceState, name: StreamedName): readonly HeldText[] {
    let stages = state.stages.get(name);
    if (stages === undefined) {
      const at = { path: `${pathOf(index)}.${name}`, role: "assistant", kind: streamedNames[name] };
      stages = this.#options.holds.map(({ looksAt, chars }) => new HeldText(looksAt(at), chars));
      state.stages.set(name, stages);
    }
    return stages;
  }

  #stateOf(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      state = { stages: new Map(), open: undefined, calls: [], called: undefined, hasFinished: false };
      this.#choices.set(index, state);
    }
    return state;
  }
}

function pathOf(index: number): string {
  return `choices[${index}].message`;
}

/** Parts of reasoning without the pieces of text that `reasoning_content` has too. A signed part is whole. */
function withoutRepeats(details: unknown): unknown {
  if (!Array.isArray(details)) return [];
  return details.map((detail) => {
    if (!isRecord(detail) || detail.signature) return detail;
    const { text: _, summary: __, ...rest } = detail;
    return rest;
  });
}
