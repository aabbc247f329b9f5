/**
 * Ids of tool calls. A provider chooses the ids of its calls, and the client returns them with the results. The next
 * turn may use another provider or protocol, which refuses ids in a form that it does not write itself.
 * {@link fitCallId} is the one place where an id gets the form of its target.
 */

interface CallIdForm {
  /** Characters that the target refuses. Default: none. */
  readonly refused?: RegExp;
  readonly charactersMin?: number;
  readonly charactersMax: number;
}

/** The form that each target takes. */
const forms = {
  /** https://docs.anthropic.com/en/api/messages */
  messages: { refused: /[^\w-]/g, charactersMax: 64 },
  /** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html */
  converse: { refused: /[^\w.:-]/g, charactersMax: 64 },
  responses: { charactersMax: 64 },
  /** OpenAI's chat. Other servers of its dialect have no such bound, and some write longer ids. */
  openai: { charactersMax: 40 },
  mistral: { refused: /[^a-zA-Z0-9]/g, charactersMin: 9, charactersMax: 9 },
} satisfies Record<string, CallIdForm>;

export type CallIdTarget = keyof typeof forms;

/**
 * Returns the id of a call in the form of its target: unchanged if it has that form, otherwise an id derived from it.
 * The same id yields the same result in each turn, so results find their calls.
 *
 * @example
 * fitCallId("call_1", "messages"); // => "call_1"
 * fitCallId("functions.Bash:0", "messages"); // => "functions_Bash_0_oqniwsrdi"
 */
export function fitCallId(id: string, target: CallIdTarget): string {
  const { refused, charactersMin = 1, charactersMax }: CallIdForm = forms[target];
  const isTaken = id.length >= charactersMin && id.length <= charactersMax;
  if (isTaken && (refused === undefined || id.search(refused) === -1)) return id;
  const plain = refused === undefined ? id : id.replace(refused, "_");
  const head = plain.slice(0, Math.max(0, charactersMax - digestCharacters - 1));
  return head === "" ? digestOf(id) : `${head}_${digestOf(id)}`;
}

/** Words that every id of a provider has, before its number. */
const idWord = /^(?:call|calls|chatcmpl|ctc|fc|fn|func|function|functions|id|tool|tools|toolu|tooluse|use)(?=\d*$)/i;
/** A server that makes up ids at random writes more, or more digits. */
const countedCharactersMax = 3;
const countedDigitsMax = 4;

/**
 * Whether a provider may use the same id in another answer: it has little beyond a number or the name of the function.
 *
 * @param name The name of the function that is called.
 *
 * @example
 * mayComeAgain("call_0", "look"); // => true
 * mayComeAgain("call_d5wg", "look"); // => false
 */
export function mayComeAgain(id: string, name: string): boolean {
  // Kimi's own form: its models are trained on it, and count through the conversation.
  if (name !== "" && (id.startsWith(`functions.${name}:`) || id.startsWith(`${name}:`))) return false;
  const pieces = id.replace(name, "").split(/[^a-z0-9]+/i);
  const telling = pieces.map((piece) => piece.replace(idWord, "")).join("");
  const isNumber = telling.length <= countedDigitsMax && /^\d*$/.test(telling);
  return isNumber || telling.length <= countedCharactersMax;
}

/** The last calls of one id of the client. */
interface Waiting {
  /** The answer of the model that has these calls. */
  readonly answer: number;
  /** The ids under which the calls are sent. */
  readonly sentIds: string[];
  /** How many results came. */
  answered: number;
}

/**
 * Makes the ids of the calls of one conversation unique. Some servers use the same ids in each answer, or one id for several calls, and
 * clients return them. Each call gets its own id, and each result the id of the nearest call before it. An id that occurs once is
 * changed only by {@link fitCallId}. A longer conversation gets the same ids for its beginning as a shorter one.
 *
 * @example
 * const ids = new CallIds("messages");
 * const turn = () => [ids.take("call_0"), ids.takeResult("call_0")];
 * [turn(), turn()]; // => [["call_0", "call_0"], ["call_0_1", "call_0_1"]]
 */
export class CallIds {
  readonly #target: CallIdTarget | undefined;
  readonly #taken = new Set<string>();
  /** Number of times each id was sent. The search for the next free id starts from it. */
  readonly #counts = new Map<string, number>();
  /** The last calls of each id of the client. */
  readonly #waiting = new Map<string, Waiting>();
  #answer = 0;

  /** @param target Absent: it takes ids of any form, and only the calls of one answer need ids of their own. */
  constructor(target?: CallIdTarget) {
    this.#target = target;
  }

  /** Begins the next answer of the model. Calls of one answer that share an id get their results in order. */
  beginAnswer(): void {
    this.#answer++;
    if (this.#target !== undefined) return;
    this.#taken.clear();
    this.#counts.clear();
  }

  /** The id for the next call. */
  take(clientId: string): string {
    const plain = this.#fit(clientId);
    let count = this.#counts.get(plain) ?? 0;
    let id = plain;
    // A name that was made here may have been sent as well: each such one is passed once.
    for (; this.#taken.has(id); id = this.#fit(`${plain}_${++count}`));
    this.#counts.set(plain, count);
    this.#taken.add(id);
    const waiting = this.#waiting.get(clientId);
    if (waiting?.answer === this.#answer) waiting.sentIds.push(id);
    else this.#waiting.set(clientId, { answer: this.#answer, sentIds: [id], answered: 0 });
    return id;
  }

  /** The id for the next result: that of its call, if there is one. */
  takeResult(clientId: string): string {
    const waiting = this.#waiting.get(clientId);
    if (waiting === undefined) return this.#fit(clientId);
    const { sentIds } = waiting;
    return sentIds[Math.min(waiting.answered++, sentIds.length - 1)] as string;
  }

  #fit(id: string): string {
    return this.#target === undefined ? id : fitCallId(id, this.#target);
  }
}

const digestCharacters = 9;

/** Nine letters and digits that tell a text from others: two sums of 32 bits, each multiplied by a prime of its own. */
function digestOf(text: string): string {
  let [first, second] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ code, 0x85ebca6b) ^ (second >>> 13);
  }
  const sum = (first >>> 0) * 2 ** 14 + ((second >>> 0) % 2 ** 14);
  return sum.toString(36).padStart(digestCharacters, "0").slice(-digestCharacters);
}
