/**
 * Tells a prompt that is too long for its model from other refusals. Some providers name the failure by a code, which
 * `src/protocols/upstream-errors.ts` looks at first; most only say it, each in its own words. Agents shorten their conversation for this error
 * alone, so it is neither missed nor seen where something else is too much: tokens a minute, or the limit of the answer.
 *
 * A sentence counts when it says all of this:
 *
 * - what is too long: the context, or the prompt by one of its names;
 * - that it is beyond a limit: "exceeds", "longer than", "too long", "at most", "must be <=";
 *
 * and neither of these: that the limit is one of a time or an account, and that only the answer is too long.
 */

/** How long a prompt that its model does not take is, in tokens, as far as its provider says it. */
export interface ContextFigures {
  readonly prompt?: number | undefined;
  /** The limit of the answer, where prompt and answer together are too long. */
  readonly answer?: number | undefined;
  /** The most that the model takes of both. */
  readonly max?: number | undefined;
}

/** Longer messages are looked at as far as this. */
const charactersMax = 2000;

const context = "context[ _-]?(?:length|window|size|limit)";
const prompt = String.raw`\b(?:prompts?|inputs?|input_\w+|messages|conversation|sequence)\b`;
const beyond = String.raw`\b(?:exceed(?:s|ed|ing)?|(?:longer|larger|greater|more) than|overflows?)\b`;
const limit = "(?:max|limit|allowed|length|tokens)";

const sentences: readonly RegExp[] = [
  // "This model's maximum context length is 8192 tokens", "exceeds the available context size", "context length of only 4096"
  /\bmax(?:imum)? (?:model |prompt |input )?(?:context )?length (?:is|of)\b/,
  new RegExp(String.raw`(?:\bmax(?:imum)?\b|${beyond}|\btoo large\b)[^;]{0,120}\b${context}`),
  new RegExp(String.raw`\b${context}[^;]{0,80}(?:${beyond}|\b(?:is|of) only \d)`),
  new RegExp(String.raw`\bbut the configured ${context} is \d`),
  // A gateway's whole message to Claude Code.
  /\bcontext_(?:length|window)_exceeded\b|> context_window: \d|\bcapability_rejected: prompt_too_long\b/,
  // "prompt is too long: 9 tokens > 8 maximum", "Prompt contains 9 tokens, too large for model"
  new RegExp(String.raw`${prompt}[^.;']{0,60}\btoo long\b`),
  new RegExp(String.raw`${prompt}[^.;']{0,60}\btokens?\b[^.;']{0,60}\btoo (?:long|large)\b`),
  // "Prompt exceeds max length", "The input token count (9) exceeds the maximum number of tokens allowed (8)"
  new RegExp(`${prompt}[^;]{0,80}${beyond}[^;]{0,40}${limit}`),
  // "Your request exceeded model token limit", "tokens in request more than max tokens allowed", "too many tokens: size limit"
  new RegExp(
    String.raw`\b(?:request\b[^;]{0,40}${beyond}[^;]{0,40}\btoken|tokens?\b[^;]{0,40}\b(?:request|messages?)\b[^;]{0,40}${beyond}[^;]{0,40}max)`,
  ),
  new RegExp(String.raw`\btokens?\b[^;]{0,40}${beyond}[^;]{0,20}\bmax message tokens`),
  /\btoo many (?:input )?tokens\b/,
  // "`inputs` must have less than 2048 tokens", "`inputs` tokens + `max_new_tokens` must be <= 4096"
  new RegExp(String.raw`${prompt}[^;]{0,60}\bmust (?:be <=|have less than) \d`),
  // "Number of tokens in prompt must be at most 8192"
  new RegExp(String.raw`(?:\btokens\b[^;]{0,40}${prompt}|${prompt}[^;]{0,40}\btokens\b)[^;]{0,40}\bat most \d`),
  // "but model only supports up to 32767", "Range of input length should be [1, 30720]", "reduce the length of the messages"
  /\binput token count\b[^;]{0,60}\bonly supports up to \d/,
  /\brange of input length should be\b/,
  /\breduce the length of the (?:messages|prompt|input)/,
  // An answer that would have fewer tokens than none.
  /\bmax_tokens must be at least 1, got -\d/,
];

/** A limit of a time, of an account or of one request's size, which a shorter conversation may not cure. */
const ofOtherLimit =
  /\bper[ -]?(?:min|hour|day|second|week|month|request)|rate[ _-]?limit|quota|throttl|\btp[md]\b|too many requests|please wait|try again (?:in|later)|string too long|\bcharacters\b(?!.{0,40}input tokens)/;
/** Names of the limit of an answer, and of the answer itself. */
const ofAnswer =
  /max_(?:completion_|output_|new_)?tokens|max(?:output)?tokens\b|(?:output|completion) tokens|maximum tokens you requested/;
/** The prompt, as a sentence about prompt and answer together names it. */
const ofPrompt = /input|prompt|messages|must be at least 1, got -/;
/** Media have limits of their own, in seconds, bytes and pixels. */
const ofMedia = /\b(?:images?|audio|video|pictures?|files?|pdf|documents?|body|payload|entity)\b/;

/**
 * Whether a provider's message says that a prompt, alone or with the requested answer, is longer than its model takes.
 *
 * @example
 * isContextLength("request (36023 tokens) exceeds the available context size (2048 tokens)"); // => true
 * isContextLength("Rate limit reached: this would exceed 40,000 input tokens per minute"); // => false
 */
export function isContextLength(message: string): boolean {
  const text = message.slice(0, charactersMax).toLowerCase();
  if (ofOtherLimit.test(text)) return false;
  if (ofAnswer.test(text) && !ofPrompt.test(text)) return false;
  if (ofMedia.test(text) && !/\btokens?\b/.test(text)) return false;
  return sentences.some((sentence) => sentence.test(text));
}

const figure = String.raw`(\d[\d,]{0,14})`;
/** "188240 + 21333 > 200000" */
const sumFigures = new RegExp(String.raw`${figure} \+ ${figure} > ${figure}`);
/** "62 in the messages", "36865 input tokens", "31216 tokens from the input messages", "4000 `inputs` tokens" */
const promptFigure = new RegExp(
  `${figure} (?:tokens )?(?:input tokens|(?:in|from) (?:the|your) (?:input )?(?:messages|prompt)|\`inputs\` tokens)`,
);
/** "4095 in the completion", "65536 output tokens", "'max_tokens' is too large: 5000" */
const answerFigure = new RegExp(
  `(?:${figure} (?:tokens )?(?:output tokens|(?:in|for) the (?:completion|output)|\`max_new_tokens\`)|too large: ${figure})`,
);
/** "However, you requested about 195000 tokens" */
const totalFigure = new RegExp(`requested (?:about |a total of )?${figure} tokens`);
const limitFigure = new RegExp(String.raw`(?:length|limit|window|<=)\D{0,16}${figure}`);
/** "exceeded by 713295 tokens" */
const excessFigure = new RegExp(`exceeded (?:max context length )?by ${figure}`);
/** Figures of tokens, as opposed to statuses, ids, list positions and numbers of drafts. */
const anyFigure = /(?<!(?:code|status|error|http)\W{0,3}|[\w.<-])\d[\d,]{2,14}(?![\w-]|\.\d)/gi;

const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text.replaceAll(",", "")));

/**
 * Reads how long a prompt is, how long its answer was to be and how long both may be, as far as a message of that failure says it.
 *
 * @example
 * readContextFigures("prompt is too long: 208310 tokens > 200000 maximum"); // => { prompt: 208310, max: 200000 }
 */
export function readContextFigures(message: string): ContextFigures {
  const text = message.slice(0, charactersMax);
  const [, ...sum] = sumFigures.exec(text)?.map(toNumber) ?? [];
  if (sum.length > 0) return { prompt: sum[0], answer: sum[1], max: sum[2] };
  const answerMatch = answerFigure.exec(text);
  const answer = toNumber(answerMatch?.[1] ?? answerMatch?.[2]);
  if (answer !== undefined) {
    const total = toNumber(totalFigure.exec(text)?.[1]);
    const rest = total === undefined ? undefined : total - answer;
    return {
      prompt: toNumber(promptFigure.exec(text)?.[1]) ?? rest,
      answer,
      max: toNumber(limitFigure.exec(text)?.[1]),
    };
  }
  const [excessWords = "", excessText] = excessFigure.exec(text) ?? [];
  const excess = toNumber(excessText);
  const rest = text.replace(excessWords, "");
  const figures = [...new Set(rest.match(anyFigure)?.map((one) => Number(one.replaceAll(",", ""))))];
  const [first, second] = figures;
  if (first === undefined || figures.length > 2) return {};
  if (excess !== undefined) return { prompt: first + excess, max: first };
  if (second === undefined) return /\bmax|\bat most |\[1, /i.test(text) ? { max: first } : {};
  // The larger of two is the prompt, whatever their order and their names are.
  return { prompt: Math.max(first, second), max: Math.min(first, second) };
}
