import { builtIns } from "../../plugins/index.ts";
import type { ChatRequest, ProviderPlugin } from "../../src/provider/index.ts";
import { type Plan, planOf, providers } from "../e2e/replay/plan.ts";
import { recordingsOf } from "../support/recordings.ts";
import { isStream } from "../support/said-in.ts";

/** A recording with the plugin that is to make an answer of it. */
export interface Case extends Plan {
  plugin: ProviderPlugin;
}

/** Every recording that can be put to the gateway, with its plugin. */
export const cases: Case[] = recordingsOf(...providers).flatMap((recording) => {
  const plan = planOf(recording);
  return plan === undefined ? [] : [{ ...plan, plugin: createPlugin(plan.provider) }];
});

/** Everything about chat, answers and errors. */
export const chats = cases.filter(({ endpoint }) => endpoint === "/chat/completions");
const isAnswer = ({ recording }: Case) => recording.status === 200 && !recording.path.includes("/errors/");

/** Recorded chat answers that came whole, and those that came as a stream. */
export const wholeChats = chats.filter((one) => isAnswer(one) && !isStream(one.recording));
export const streamedChats = chats.filter((one) => isAnswer(one) && isStream(one.recording));
/** Streams that hold an error are cut too. */
export const brokenStreams = chats.filter((one) => !isAnswer(one) && isStream(one.recording));

/** The rows of a `test.each`, named by their recordings. */
export const named = (list: readonly Case[]): [string, Case][] => list.map((one) => [one.recording.path, one]);

/** The chat request of a case, streamed or not. */
export function requestOf({ body }: Case, stream: boolean): ChatRequest {
  const { stream_options: _, stream: __, ...rest } = body as unknown as ChatRequest;
  return stream ? { ...rest, stream, stream_options: { include_usage: true } } : rest;
}

function createPlugin(name: string): ProviderPlugin {
  const plugin = builtIns.find((one) => one.name === name);
  if (plugin === undefined) throw new Error(`No plugin ${name}`);
  return plugin;
}
