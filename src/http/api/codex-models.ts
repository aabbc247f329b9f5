import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Model } from "../../provider/index.ts";

const Level = Type.Object({ effort: Type.String(), description: Type.String() });
const Tier = Type.Object({ id: Type.String(), name: Type.String(), description: Type.String() });

/** A model as Codex reads it. Of a list with one model that it cannot read it takes none, so each is checked by this. */
export const CodexModel = Type.Object({
  slug: Type.String({ minLength: 1 }),
  display_name: Type.String({ minLength: 1 }),
  visibility: Type.Union([Type.Literal("list"), Type.Literal("hide")], {
    description: "list: it stands in the picker",
  }),
  priority: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: "Its place in the picker" }),
  supported_in_api: Type.Literal(true),
  supported_reasoning_levels: Type.Array(Level),
  default_reasoning_summary: Type.Optional(Type.Literal("none")),
  support_verbosity: Type.Literal(false),
  shell_type: Type.Literal("unified_exec"),
  apply_patch_tool_type: Type.Literal("freeform"),
  experimental_supported_tools: Type.Array(Type.String(), { maxItems: 0 }),
  truncation_policy: Type.Object({ mode: Type.Literal("tokens"), limit: Type.Integer({ minimum: 1 }) }),
  input_modalities: Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")])),
  context_window: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  service_tiers: Type.Array(Tier),
  base_instructions: Type.String({ minLength: 1 }),
});
export type CodexModel = Static<typeof CodexModel>;

/** The facts of a model that Codex goes by. */
export type CodexFacts = Pick<Model, "capability" | "features" | "reasoning" | "contextTokens" | "price">;

/**
 * Names of OpenAI's models whose prompt and tools come with Codex 0.171. Where it asks by itself, the list is added to these, and an
 * entry would take their place; the list at an address that its user configured is the only one that it has.
 */
export const ownNames: ReadonlySet<string> = new Set([
  "gpt-5.5",
  "gpt-5.6-luna",
  "gpt-5.6-sol",
  "gpt-5.6-terra",
  "gpt-6-astra",
  "gpt-6-luna",
  "gpt-6-sol",
  "gpt-6.1-sol",
  "gpt-6.1-terra",
  "gpt-6.2-astra",
  "gpt-6.2-sol",
]);

/** The system prompt for models that Codex does not know. */
const baseInstructions = `You are a coding agent in the user's terminal. Read the code around a change before you make it, and write in its style.
Do what was asked and no more. Use the shell to search, build and test, and patches to change files.
Run what proves that the change works, and say what you could not run. Do not undo work that is not yours, and ask before you delete data.
AGENTS.md files hold the rules of their folders: follow them. Answer briefly: what you changed, where, and what is left to do.`;

/** Efforts that every version of Codex reads and every model that reasons takes. */
const efforts = [
  { effort: "low", description: "Quick answers" },
  { effort: "medium", description: "For most work" },
  { effort: "high", description: "For hard problems" },
];
const priorityTier = { id: "priority", name: "Fast", description: "Faster, at the price of the tier" };
/** Tokens of a command's output that Codex sends. */
const outputTokensMax = 10_000;
/** Codex is sent no larger list. */
const bytesMax = 1_000_000;

/** A model by one of its names. */
export interface NamedFacts {
  readonly name: string;
  readonly facts: CodexFacts;
  /** Whether it is the name under which people look for the model. */
  readonly isShown: boolean;
}

/**
 * Returns Codex' catalogue: chat models, without the models that are known to take no tools. Names that the picker shows come
 * first; if the list is too large, the other names are dropped.
 *
 * @param isWhole Also with the names that come with Codex.
 */
export function toCodexModels(named: readonly NamedFacts[], isWhole: boolean): CodexModel[] {
  const able = named.filter(
    ({ name, facts }) =>
      facts.capability === "chat" && facts.features?.includes("tools") !== false && (isWhole || !ownNames.has(name)),
  );
  const inOrder = [...able.filter(({ isShown }) => isShown), ...able.filter(({ isShown }) => !isShown)];
  const models: CodexModel[] = [];
  let bytes = 0;
  for (const one of inOrder) {
    const model = toCodexModel(one, models.length + 1);
    // Half a character in a name is no JSON to it.
    if (!one.name.isWellFormed() || !Value.Check(CodexModel, model)) continue;
    bytes += Buffer.byteLength(JSON.stringify(model)) + 1;
    if (bytes > bytesMax) break;
    models.push(model);
  }
  return models;
}

function toCodexModel({ name, facts, isShown }: NamedFacts, priority: number): CodexModel {
  const { features, reasoning, contextTokens, price } = facts;
  return {
    slug: name,
    display_name: name,
    visibility: isShown ? "list" : "hide",
    priority,
    supported_in_api: true,
    supported_reasoning_levels: reasoning === true ? efforts : [],
    // Codex asks for summaries otherwise, also of models that do not reason.
    ...(reasoning !== true && { default_reasoning_summary: "none" }),
    support_verbosity: false,
    shell_type: "unified_exec",
    apply_patch_tool_type: "freeform",
    experimental_supported_tools: [],
    truncation_policy: { mode: "tokens", limit: outputTokensMax },
    input_modalities: features?.includes("vision") === false ? ["text"] : ["text", "image"],
    ...(contextTokens !== undefined && { context_window: contextTokens }),
    service_tiers: price?.serviceTiers?.priority === undefined ? [] : [priorityTier],
    base_instructions: baseInstructions,
  };
}

/** Returns the facts that all of these models share: any of them may answer requests for one name. */
export function factsInCommon(common: CodexFacts, models: readonly CodexFacts[]): CodexFacts {
  const isKnown = models.every(({ features }) => features !== undefined);
  const [first, ...others] = models.map(({ features }) => new Set(features));
  const shared = others.reduce((sum, features) => sum.intersection(features), first ?? new Set());
  return {
    ...common,
    reasoning: models.every(({ reasoning }) => reasoning === true),
    ...(isKnown && { features: [...shared] }),
  };
}
