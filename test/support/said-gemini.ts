import type { Said, SaidChoice } from "./said.ts";

interface WirePart {
  text?: string;
  thought?: boolean;
  functionCall?: { name: string; args?: unknown };
}

interface WireUsage {
  promptTokenCount?: number;
  toolUsePromptTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
  cachedContentTokenCount?: number;
}

/** An answer of generateContent, or one event of its stream. */
export interface WireContent {
  candidates?: { index?: number; content?: { parts?: WirePart[] }; finishReason?: string }[];
  promptFeedback?: { blockReason?: string };
  usageMetadata?: WireUsage;
}

const filtered = /^(SAFETY|RECITATION|LANGUAGE|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_.*)$/;

/**
 * What an answer of Gemini's says, in the words that an OpenAI client must be told it in. Function calls have no ids
 * of their own, so their ids are left empty here.
 */
export function saidByContents(contents: WireContent[]): Said {
  const choice: SaidChoice = { text: "", refusal: "", tools: [], function: undefined, finish: null };
  let usage: WireUsage | undefined;
  for (const { candidates, promptFeedback, usageMetadata } of contents) {
    if (promptFeedback !== undefined && !candidates?.length) choice.finish = "content_filter";
    for (const { content, finishReason } of candidates ?? []) {
      for (const part of content?.parts ?? []) add(choice, part);
      if (finishReason !== undefined) choice.finish = finishOf(finishReason);
    }
    usage = usageMetadata ?? usage;
  }
  if (choice.tools.length > 0 && choice.finish === "stop") choice.finish = "tool_calls";
  return { choices: [choice], usage: usage === undefined ? undefined : usageOf(usage) };
}

function add(choice: SaidChoice, { text, thought, functionCall }: WirePart): void {
  if (thought !== true) choice.text += text ?? "";
  if (functionCall === undefined) return;
  choice.tools.push({ id: "", name: functionCall.name, arguments: JSON.stringify(functionCall.args ?? {}) });
}

function finishOf(reason: string): string {
  if (reason === "MAX_TOKENS") return "length";
  return filtered.test(reason) ? "content_filter" : "stop";
}

function usageOf(usage: WireUsage): NonNullable<Said["usage"]> {
  const prompt = (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0);
  const completion = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
  return {
    prompt,
    completion,
    total: prompt + completion,
    cached: usage.cachedContentTokenCount || undefined,
    written: undefined,
    reasoning: usage.thoughtsTokenCount || undefined,
  };
}
