import { isReportable, type Meters, UpstreamError } from "../../contract/index.ts";
import type { ChatRequest, Model, ModerationRequest, Moderations } from "../../provider/index.ts";
import { withFailover } from "../failover.ts";
import { boundPrompt, chatForm, readPromptText } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";
import { refuseOtherSchemes } from "../upstream/media-addresses.ts";

export const moderationCapability: CapabilityHandler<"moderation"> = {
  validate({ request }) {
    if (typeof request.input !== "string" && typeof request.input[0] !== "string") refuseOtherSchemes(request);
    return undefined;
  },

  // The context of a model bounds each text, not all of them together.
  upperBound: ({ request, modelEntry: { model } }) => ({
    upper: {
      inputToken: sum(toPrompts(request).map((prompt) => boundPrompt(prompt, chatForm, model).meters.inputToken)),
    },
  }),

  toReport: (_, usage) => toReported((usage as { prompt_tokens?: unknown }).prompt_tokens),

  async estimate({ request, modelEntry: { model } }) {
    const counts = await Promise.all(toPrompts(request).map((prompt) => countPrompt(prompt, model)));
    return { inputToken: sum(counts) };
  },

  async execute(kernel, run) {
    const { request, usageMeter } = run;
    const count = toPrompts(request).length;
    const answer = await withFailover(kernel, run, {
      requestFor: () => request,
      async run(plugin, pluginCall): Promise<Moderations> {
        const moderations = await plugin.handlers.moderation?.(pluginCall);
        if (Array.isArray(moderations?.results) && moderations.results.length === count) return moderations;
        throw new UpstreamError("bad_response", "The provider's answer does not have one result for each input");
      },
    });
    usageMeter.produced = true;
    usageMeter.complete = true;
    const reported = toReported(answer.usage?.prompt_tokens);
    if (reported !== undefined) usageMeter.report(reported, answer.usage);
    return answer;
  },
};

function toReported(tokens: unknown): Meters | undefined {
  return isReportable(tokens) && tokens > 0 ? { inputToken: tokens } : undefined;
}

type Prompt = Pick<ChatRequest, "messages">;

/**
 * Converts each input to a separate conversation, which is bounded and counted like one of chat. Other fields go with
 * the first.
 */
function toPrompts({ input, model: _, ...others }: ModerationRequest): Prompt[] {
  const contents = typeof input === "string" || typeof input[0] !== "string" ? [input] : input;
  return contents.map((content, index) => ({
    ...(index === 0 && others),
    messages: [{ role: "user", content: content as string }],
  }));
}

async function countPrompt(prompt: Prompt, model: Model): Promise<number> {
  const { pieces, otherTokens } = readPromptText(prompt, chatForm, model);
  const { inputToken = 0 } = boundPrompt(prompt, chatForm, model).meters;
  return Math.min((await countPieces(pieces)) + otherTokens, inputToken);
}

function sum(amounts: readonly (number | undefined)[]): number {
  return amounts.reduce<number>((total, amount = 0) => total + amount, 0);
}
