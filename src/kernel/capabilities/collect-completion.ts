import { UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type {
  BesideChoice,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  ChunkChoice,
  ToolCall,
  ToolCallDelta,
} from "../../provider/index.ts";
import { StreamNormalizer } from "../normalize/answer.ts";
import { addCalls, joinPieces } from "../normalize/join-pieces.ts";
import { UsageMeter } from "../normalize/usage-meter.ts";
import { type BatchReader, pump } from "../streaming.ts";

/** A choice that is put together of its pieces. */
type CollectedChoice = ChatCompletion["choices"][number] & BesideChoice & { logprobs?: unknown };

/**
 * A stream as the completion that it would have been.
 *
 * @throws {UpstreamError} When it fails, or ends before its answer does.
 */
export async function collectCompletion(
  reader: BatchReader<ChatChunk>,
  { tools, n }: Pick<ChatRequest, "tools" | "n">,
): Promise<ChatCompletion> {
  const head = { id: "", created: 0, model: "" };
  const normalizer = new StreamNormalizer(head, new UsageMeter(async () => ({})), { tools });
  const choices: CollectedChoice[] = [];
  let tier: unknown;
  const take = (raw: ChatChunk) => {
    for (const chunk of normalizer.push(raw)) for (const choice of chunk.choices) addChoice(choices, choice);
    tier = raw.service_tier ?? tier;
    return undefined;
  };
  await pump({ first: [], reader }, take, { isFinished: () => normalizer.hasFinished(n ?? 1) });
  if (!normalizer.finished) {
    throw new UpstreamError("bad_response", "The provider's stream ended before the answer was complete");
  }
  const { usage } = normalizer;
  return {
    ...head,
    object: "chat.completion",
    choices: choices.filter((choice) => choice !== undefined),
    ...(usage && { usage }),
    ...(typeof tier === "string" && { service_tier: tier }),
  };
}

function addChoice(choices: CollectedChoice[], { index, delta, logprobs, ...ending }: ChunkChoice): void {
  const { finish_reason: finish, stop_sequence: stop } = ending;
  choices[index] ??= { index, message: { role: "assistant", content: null }, finish_reason: null };
  const choice = choices[index];
  const message: Record<string, unknown> & { tool_calls?: ToolCall[] } = choice.message;
  for (const [name, piece] of Object.entries(delta)) {
    if (name === "role" || piece === null || piece === undefined) continue;
    if (name === "tool_calls") message.tool_calls = addCalls(message.tool_calls ?? [], piece as ToolCallDelta[]);
    else message[name] = joinPieces(message[name], piece);
  }
  if (isRecord(logprobs)) choice.logprobs = joinPieces(choice.logprobs, logprobs);
  choice.finish_reason = finish ?? choice.finish_reason;
  if (stop !== undefined) choice.stop_sequence = stop;
}
