/** What a scripted model does with a request, before it is written in a provider's own wire. */
export interface Step {
  /** A thought, with the provider's proof of it. */
  thought?: { text: string; signature: string };
  text?: string;
  tool?: ToolPlan & { id: string };
}

/** What the request says that the step depends on. */
export interface Asked {
  /** Names of the tools that the model may call. */
  tools: readonly string[];
  /** The text of the newest tool result, when the conversation has one. */
  result: string | undefined;
  /** Whether the caller asked for thoughts. */
  thinks: boolean;
}

/** A tool to call first; the answer to its result is a text that quotes it. */
export interface ToolPlan {
  name: string;
  /** Arguments, or the free text of a custom tool. */
  input: Record<string, unknown> | string;
  /** How many requests are answered by a call of it, one after another. Default: the first alone. */
  turns?: number;
}

/** Characters that a translation could escape, cut or normalise on the way. */
export const thoughtText = 'First “look”\n\tthen \\ write: é, 漢, 😀, e\u0301, </tag> & "quotes"';

/** One answer after another: text for a question, a call where a tool is planned, and a text once its result is there. */
export function nextStep(plan: ToolPlan | undefined, { tools, result, thinks }: Asked, count: number): Step {
  const signature = Buffer.from(`signature ${count} ÿþ?>~`).toString("base64");
  const thought = thinks ? { thought: { text: thoughtText, signature } } : {};
  if (result !== undefined && count > (plan?.turns ?? 0))
    return { ...thought, text: `The tool said: ${result.trim().slice(0, 200)}` };
  if (plan === undefined || !tools.includes(plan.name)) return { ...thought, text: "Hello Ada" };
  return { ...thought, tool: { ...plan, id: `Qm4vT9xZ${count}` } };
}

/** The arguments of a function that stands for a custom tool: its free text is one of them. */
export const toArguments = (input: ToolPlan["input"]) => (typeof input === "string" ? { input } : input);

/** An event of a stream in the form of server-sent events. */
export const toEvent = (data: unknown, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Two pieces of a text, so that what puts pieces together has something to do. */
export const halves = (text: string): string[] =>
  text.length < 2 ? [text] : [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
