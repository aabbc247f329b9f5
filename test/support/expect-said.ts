import { expect } from "bun:test";
import type { Recording } from "./recordings.ts";
import type { Said } from "./said.ts";
import { saidIn } from "./said-in.ts";

/** What a client must be told of it: OpenAI's five reasons, and reasoning in `<think>` tags kept out of the text. */
function asPromised(said: Said): Said {
  const choices = said.choices.map((choice) => ({
    ...choice,
    text: choice.text.replace(/^\s*<think>[\s\S]*?(<\/think>\s*|$)/, ""),
    finish: choice.finish === "eos" ? "stop" : choice.finish,
  }));
  return { ...said, choices };
}

/** Arguments as the value they stand for, and the ids of calls that have none at their provider as nothing. */
function comparable({ choices }: Said, provider: string): unknown {
  return choices.map((choice) => ({
    ...choice,
    tools: choice.tools.map(({ id, name, arguments: text }) => ({
      id: provider === "gemini" ? "" : id,
      name,
      arguments: JSON.parse(text) as unknown,
    })),
  }));
}

/** An answer says what was recorded, its calls have ids of their own, and its usage is the provider's. */
export function expectSaid(got: Said, recording: Recording): void {
  const wanted = asPromised(saidIn(recording));
  expect(comparable(got, recording.provider)).toEqual(comparable(wanted, recording.provider));
  const ids = got.choices.flatMap(({ tools }) => tools.map(({ id }) => id));
  expect({ ids: new Set(ids).size, empty: ids.includes("") }).toEqual({ ids: ids.length, empty: false });
  if (got.usage !== undefined && wanted.usage !== undefined) expect(got.usage).toEqual(wanted.usage);
}
