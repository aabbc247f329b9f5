/**
 * Facts of a model that hold wherever it is sold: whether it reasons, what an image costs it, how long its answers are, how
 * long a prompt must be to be cached.
 * Each fact is declared once, by the family of the model, and applies to every provider's row of it, also to an
 * operator's own. A row has only what its provider decides: the price, the name, the context that is offered. A fact in
 * a row takes precedence.
 *
 * An unknown fact is absent, and the kernel assumes the case that costs more. So `reasoning: false` is declared only
 * for families whose makers sell no mode of them that reasons.
 */

/** Facts of a model. An absent fact is unknown. */
export interface ModelFacts {
  /** It may reason before it answers, and what it reasons may not all be shown. */
  readonly reasoning?: boolean;
  /** Maximum tokens that one image of a prompt costs. */
  readonly imageTokensMax?: number;
  /** Maximum tokens of one answer, including its reasoning. */
  readonly outputTokensMax?: number;
  /** The shortest prompt that is cached, in tokens. */
  readonly cacheTokensMin?: number;
}

/** The names of a family, in the form of {@link normalizeModelName}, and its facts. */
type Family = readonly [names: RegExp, facts: ModelFacts];

const reasons: ModelFacts = { reasoning: true };
const plain: ModelFacts = { reasoning: false };

/** Matches names that begin with these words, or have them after the name of their maker. */
const named = (words: string): RegExp => new RegExp(`(?:^|-)(?:${words})(?=-|$)`);

/**
 * Families of models. Each fact comes from the first family that matches and declares it. Sources: for OpenAI
 * https://platform.openai.com/docs/guides/images-vision and /docs/models, for Anthropic
 * https://platform.claude.com/docs/en/build-with-claude/vision, /extended-thinking and /prompt-caching, for Google
 * https://ai.google.dev/gemini-api/docs/tokens and /thinking, for others their model cards.
 */
const families: readonly Family[] = [
  // Names that say it
  [/(?:^|-)non-(?:reasoning|thinking)(?=-|$)/, plain],
  [named("thinking|reasoning|reasoner|think"), reasons],
  // Anthropic
  [named("claude-(?:2|instant|3(?!-7))(?:-\\w+)*"), plain],
  [named("claude-\\w+(?:-\\w+)*"), { reasoning: true, imageTokensMax: 4784 }],
  [/(?:^|-)claude-(?:opus|fable|mythos)-5(?!-\d{1,2}(?!\d))(?=-|$)/, { cacheTokensMin: 512 }],
  [/(?:^|-)claude-(?:sonnet-4|sonnet-5(?!-\d{1,2}(?!\d))|opus-4-8)(?=-|$)/, { cacheTokensMin: 1024 }],
  [/(?:^|-)claude-(?:haiku-4-5|opus-4-[56])(?=-|$)/, { cacheTokensMin: 4096 }],
  // Google
  [named("gemini-(?:1|2-0)(?:-\\w+)*"), { reasoning: false, imageTokensMax: 8256, outputTokensMax: 8192 }],
  [named("gemini-(?:2-5|3)(?:-\\w+)*"), { outputTokensMax: 65_536 }],
  [named("gemini-(?:pro|flash|[2-9])(?:-\\w+)*"), { reasoning: true, imageTokensMax: 8256 }],
  [named("gemma-?[1-3]n?"), plain],
  [named("gemma-?[4-9]"), reasons],
  // OpenAI
  [named("gpt-4o-mini"), { imageTokensMax: 48_169 }],
  [named("(?:gpt-4-1|gpt-5)-mini"), { imageTokensMax: 2489 }],
  [named("(?:gpt-4-1|gpt-5)-nano"), { imageTokensMax: 3779 }],
  [named("gpt-4(?:o|-1|-turbo)"), { imageTokensMax: 1445 }],
  [/(?:^|-)gpt-5(?:-[1-3])?(?:-chat)?(?:-latest)?$/, { imageTokensMax: 1190 }],
  [named("o4-mini"), { imageTokensMax: 2642 }],
  [/(?:^|-)o[13]$/, { imageTokensMax: 1275 }],
  [named("gpt-4-1"), { outputTokensMax: 32_768 }],
  [named("gpt-4o"), { outputTokensMax: 16_384 }],
  [named("gpt-(?:3|35|4o?)"), plain],
  [named("gpt-audio"), plain],
  [named("o[1-9]"), { reasoning: true, outputTokensMax: 100_000 }],
  [named("gpt-oss"), reasons],
  [named("gpt-5-pro"), { reasoning: true, outputTokensMax: 272_000 }],
  [named("gpt-5"), { reasoning: true, outputTokensMax: 128_000 }],
  [named("gpt-(?:[6-9]|\\d\\d)"), reasons],
  // DeepSeek, whose first is the base of others
  [named("deepseek-(?:r\\d|flash|pro|v3-(?:[1-9]|v1)|v[4-9])"), reasons],
  [named("deepseek-(?:chat-)?v(?:2|3)"), plain],
  // Alibaba: the first two generations, and what is named for instructions or code of the third, do not think.
  [named("qwq|qvq"), reasons],
  [named("qwen-?(?:1|2)(?:-5)?"), plain],
  [/(?:^|-)qwen-?3-.*(?:instruct|coder)(?=-|$)|(?:^|-)qwen-?3-coder/, plain],
  [named("qwen-?[3-9]|qwen-(?:plus|flash|turbo|max)"), reasons],
  // Moonshot
  [named("kimi-k2-[5-9]|kimi-k[3-9]"), reasons],
  [named("kimi-k2"), plain],
  // Z.ai
  [named("glm-4-[5-9]v?|glm-(?:[5-9]|\\d\\d)v?|glm-z1"), reasons],
  [named("glm-[34]"), plain],
  // MiniMax, xAI
  [named("minimax-m\\d"), reasons],
  [named("minimax-(?:01|text-01)"), plain],
  [named("grok-(?:3-mini|[4-9]|code|build)"), reasons],
  [named("grok-[23]"), plain],
  // Mistral: its models have reasoned from the year 2026 on.
  [named("magistral|mistral-(?:small-(?:4|26\\d\\d)|medium-(?:3-5|26\\d\\d)|large-4)"), reasons],
  [
    named(
      "mistral-(?:7b|nemo|saba|large-(?:3|24\\d\\d|25\\d\\d)|medium-(?:3|25\\d\\d)|small-(?:3|24b|24\\d\\d|25\\d\\d))",
    ),
    plain,
  ],
  [named("mixtral|ministral|codestral|devstral|pixtral|voxtral"), plain],
  // Amazon, NVIDIA, Meta and what is made of Llama
  [named("nova-2"), reasons],
  [named("nova-(?:micro|lite|pro|premier)"), plain],
  [named("nemotron"), reasons],
  [named("cogito|deephermes|hermes-4"), reasons],
  [/(?:^|-)(?:code|tiny)?llama(?=\d|-|$)/, plain],
  [named("l3|hermes-[23]|wizardlm-2"), plain],
  // Others
  [named("command-(?:r|r7b|a)|c4ai-aya"), plain],
  [named("phi-?[1-4]"), plain],
  [named("ernie-4-5-\\d+b"), plain],
  [named("ernie-4-5-vl"), reasons],
  [named("sonar-deep"), reasons],
  [/(?:^|-)sonar(?:-pro)?$/, plain],
  [named("sarvam|mimo|seed-oss|muse-spark"), reasons],
];

/**
 * The name of a model as families know it: without who sells it or where, in lower case, in words.
 *
 * @example
 * normalizeModelName("us.anthropic.claude-opus-4-6-v1:0"); // => "us-anthropic-claude-opus-4-6-v1"
 * normalizeModelName("accounts/fireworks/models/glm-5p1"); // => "glm-5-1"
 * normalizeModelName("Qwen/Qwen3-32B:together"); // => "qwen3-32b"
 */
export function normalizeModelName(name: string): string {
  const own = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const end = own.search(/[:@]/);
  return (end < 0 ? own : own.slice(0, end)).replace(/(\d)p(?=\d)/g, "$1-").replace(/[._\s]+/g, "-");
}

/**
 * Removes the facts that the model itself has from a row: whether it reasons and what an image costs belong to the
 * model. A limit of the output stays if the provider's limit differs.
 */
export function withoutModelFacts<Row extends ModelFacts & { upstreamId: string; capability: string }>(row: Row): Row {
  if (row.capability !== "chat") return row;
  const facts = findModelFacts(row.upstreamId);
  const isOwn = ([name, value]: [string, unknown]) =>
    name === "outputTokensMax" ? value !== facts.outputTokensMax : facts[name as keyof ModelFacts] === undefined;
  return Object.fromEntries(Object.entries(row).filter(isOwn)) as Row;
}

/** No model has a longer name; the search for a family may take the square of its length. */
const nameCharsMax = 300;

/** Finds the facts of a model by a name of it, a provider's or another. */
export function findModelFacts(name: string): ModelFacts {
  if (name.length > nameCharsMax) return {};
  const normalized = normalizeModelName(name);
  let facts: ModelFacts = {};
  for (const [names, more] of families) if (names.test(normalized)) facts = { ...more, ...facts };
  return facts;
}
