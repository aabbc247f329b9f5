import type { Call } from "modelgate/plugin";
import type { ModerationRequest, ModerationResult, Moderations } from "../../src/provider/index.ts";
import { applyFaults, failWhole, readFaults } from "./faults.ts";
import { toPieces } from "./reply.ts";

/** The categories of OpenAI's present model. */
const categories = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

/** Flags a text that names a category; nobody reads it, and images never are flagged. */
export async function moderation({ request, signal }: Call<ModerationRequest>): Promise<Moderations> {
  const texts = toTexts(request.input);
  const { faults } = readFaults(texts.join("\n"));
  await applyFaults(faults, signal);
  failWhole(faults);
  const results = texts.map(judge);
  if (faults.usageMissing) return { results };
  let tokens = 0;
  for (const text of texts) tokens += Math.max(1, toPieces(text).length);
  return { results, usage: { prompt_tokens: tokens } };
}

/** One text an input; parts are one input together. */
function toTexts(input: ModerationRequest["input"]): string[] {
  if (typeof input === "string") return [input];
  const texts = input.filter((each) => typeof each === "string");
  if (texts.length > 0) return texts;
  return [input.map((part) => (typeof part === "object" && part.type === "text" ? part.text : "")).join("\n")];
}

function judge(text: string): ModerationResult {
  const lower = text.toLowerCase();
  const named = (category: string) => lower.includes(category.split("/")[0] as string);
  const of = <Value>(value: (category: string) => Value) =>
    Object.fromEntries(categories.map((category) => [category, value(category)]));
  return {
    flagged: categories.some(named),
    categories: of(named),
    category_scores: of((category) => (named(category) ? 0.9 : 0.01)),
    category_applied_input_types: of(() => ["text"]),
  };
}
