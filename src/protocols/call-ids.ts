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

/** The ids of one request, for a target that wants each once: clients use them again. */
export class CallIds {
  readonly #target: CallIdTarget;
  readonly #taken = new Set<string>();
  /** Number of times each id was sent. The search for the next free id starts from it. */
  readonly #counts = new Map<string, number>();

  constructor(target: CallIdTarget) {
    this.#target = target;
  }

  take(clientId: string): string {
    const plain = fitCallId(clientId, this.#target);
    let count = this.#counts.get(plain) ?? 0;
    let id = plain;
    // A name that was made here may have been sent as well: each such one is passed once.
    for (; this.#taken.has(id); id = fitCallId(`${plain}_${++count}`, this.#target));
    this.#counts.set(plain, count);
    this.#taken.add(id);
    return id;
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
