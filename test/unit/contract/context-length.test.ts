import { expect, test } from "bun:test";
import bedrock from "../../../plugins/bedrock/index.ts";
import { isContextLength, readContextFigures } from "../../../src/contract/context-length.ts";
import { type ContextFigures, GatewayError } from "../../../src/contract/index.ts";
import { readError, toMessagesError } from "../../../src/protocols/messages/errors.ts";
import { classifyError, classifyRefusal } from "../../../src/protocols/upstream-errors.ts";
import { slowness } from "../../support/slowness.ts";

/** Sentences of servers and providers for a prompt that is too long, with the figures that they give. */
const tooLong: [source: string, sentence: string, figures?: ContextFigures][] = [
  [
    "OpenAI, chat",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
    { prompt: 204308, max: 128000 },
  ],
  ["OpenAI, Responses", "Your input exceeds the context window of this model. Please adjust your input and try again."],
  [
    "OpenAI, prompt and answer",
    "This model's maximum context length is 4097 tokens, however you requested 5360 tokens (1360 in your prompt; 4000 for the completion). Please reduce your prompt; or completion length.",
    { prompt: 1360, answer: 4000, max: 4097 },
  ],
  [
    "Azure",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 305127 tokens. Please reduce the length of the messages.",
    { prompt: 305127, max: 272000 },
  ],
  ["Anthropic", "prompt is too long: 208310 tokens > 200000 maximum", { prompt: 208310, max: 200000 }],
  [
    "Anthropic, prompt and answer",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
    { prompt: 188240, answer: 21333, max: 200000 },
  ],
  ["Bedrock, Claude", "Input is too long for requested model."],
  [
    "Bedrock, Claude by Converse",
    "The model returned the following errors: prompt is too long: 286028 tokens > 200000 maximum",
    { prompt: 286028, max: 200000 },
  ],
  [
    "Bedrock, Nova",
    "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
  ],
  [
    "Bedrock, Llama",
    "The model returned the following errors: This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
    { max: 8192 },
  ],
  [
    "Bedrock, Gemma",
    "The model returned the following errors: This model's maximum context length is 131072 tokens. However, you requested 5 output tokens and your prompt contains at least 242008 input tokens, for a total of at least 242013 tokens.",
    { prompt: 242008, answer: 5, max: 131072 },
  ],
  [
    "Bedrock, gpt-oss",
    "Input length (195071) exceeds model's maximum context length (131072).",
    { prompt: 195071, max: 131072 },
  ],
  [
    "Gemini",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    { prompt: 1196265, max: 1048576 },
  ],
  [
    "Gemini, without its count",
    "The input token count exceeds the maximum number of tokens allowed (1048576).",
    { max: 1048576 },
  ],
  [
    "Vertex",
    "Unable to submit request because the input token count is 135538 but model only supports up to 131072. Reduce the input token count and try again.",
    { prompt: 135538, max: 131072 },
  ],
  [
    "Mistral",
    "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    { prompt: 65673, max: 32768 },
  ],
  [
    "xAI",
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    { prompt: 136973, max: 131072 },
  ],
  ["Groq", "Please reduce the length of the messages or completion."],
  [
    "Cerebras",
    "Please reduce the length of the messages or completion. Current length is 9500 while limit is 8192",
    { prompt: 9500, max: 8192 },
  ],
  [
    "OpenRouter",
    'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    { prompt: 42832, max: 32768 },
  ],
  [
    "OpenRouter, prompt and answer",
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 215000 tokens (150000 of text input, 40000 of tool input, 25000 in the output).",
    { prompt: 190000, answer: 25000, max: 200000 },
  ],
  [
    "DeepSeek",
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    { prompt: 122942, answer: 8192, max: 131072 },
  ],
  [
    "Together",
    "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    { prompt: 516368, max: 262144 },
  ],
  [
    "Fireworks",
    "The prompt is too long: 221782, model maximum context length: 202752",
    { prompt: 221782, max: 202752 },
  ],
  [
    "Cohere",
    "too many tokens: size limit exceeded by 713295 tokens. Try using shorter or fewer inputs. The limit for this model is 288000 tokens.",
    { prompt: 1001295, max: 288000 },
  ],
  [
    "Cohere, prompt and answer",
    "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.",
    { prompt: 6354, max: 2048 },
  ],
  [
    "Moonshot",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
    { prompt: 291351, max: 262144 },
  ],
  ["MiniMax", "invalid params, context window exceeds limit"],
  ["Z.ai", "Prompt exceeds max length"],
  ["Z.ai, English", "tokens in request more than max tokens allowed"],
  [
    "Alibaba",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]",
    { max: 202745 },
  ],
  ["Volcengine", "Input length 203743 exceeds the maximum length 202752", { prompt: 203743, max: 202752 }],
  ["Volcengine, images", "Total tokens of image and text exceed max message tokens"],
  ["GitHub Models", "prompt token count of 130000 exceeds the limit of 128000", { prompt: 130000, max: 128000 }],
  [
    "Cloudflare",
    "AiError: Ai: The estimated number of input and maximum output tokens (900047) exceeded this model context window limit (32000).",
    { prompt: 900047, max: 32000 },
  ],
  [
    "watsonx",
    "the number of input tokens 5200 cannot exceed the total tokens limit 4096 for this model",
    { prompt: 5200, max: 4096 },
  ],
  [
    "Reka",
    "number of input tokens (167594) has exceeded max_prompt_tokens (163840) limit.",
    { prompt: 167594, max: 163840 },
  ],
  [
    "Replicate",
    "Your input is too long. Max input length is 4096 tokens, but you supplied 5441 tokens.",
    { prompt: 5441, max: 4096 },
  ],
  [
    "llama.cpp",
    "request (36023 tokens) exceeds the available context size (2048 tokens), try increasing it",
    { prompt: 36023, max: 2048 },
  ],
  [
    "llama.cpp, earlier",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
  ],
  ["llama.cpp, in the answer", "Context size has been exceeded."],
  ["llama-cpp-python", "Requested tokens (2285) exceed context window of 2048", { prompt: 2285, max: 2048 }],
  [
    "SGLang",
    "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.",
    { prompt: 160062, max: 59862 },
  ],
  [
    "SGLang, context",
    "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    { prompt: 61709, max: 40960 },
  ],
  [
    "SGLang, prompt and answer",
    "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
    { prompt: 31216, answer: 225662, max: 256000 },
  ],
  [
    "vLLM",
    "This model's maximum context length is 262144 tokens. However, your request has 1000010 input tokens. Please reduce the length of the input messages.",
    { prompt: 1000010, max: 262144 },
  ],
  [
    "vLLM, prompt and answer",
    "This model's maximum context length is 131072 tokens. However, you requested 65536 output tokens and your prompt contains at least 65537 input tokens, for a total of at least 131073 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
    { prompt: 65537, answer: 65536, max: 131072 },
  ],
  [
    "vLLM, answer",
    "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
    { prompt: 100, answer: 5000, max: 4096 },
  ],
  [
    "vLLM 0.16",
    "You passed 400 input tokens and requested 2045 output tokens. However, the model's context length is only 2048 tokens, resulting in a maximum input length of 3 tokens.",
    { prompt: 400, answer: 2045, max: 2048 },
  ],
  [
    "vLLM, engine",
    "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.",
    { prompt: 21535, max: 16384 },
  ],
  ["vLLM, no room", "max_tokens must be at least 1, got -512."],
  [
    "vLLM, scheduler",
    "Input prompt (35247 tokens) is too long and exceeds limit of 1000",
    { prompt: 35247, max: 1000 },
  ],
  [
    "TGI",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`",
    { prompt: 79993, answer: 1024, max: 65537 },
  ],
  [
    "TGI, prompt",
    "Input validation error: `inputs` must have less than 2048 tokens. Given: 2222",
    { prompt: 2222, max: 2048 },
  ],
  [
    "LM Studio",
    "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
    { prompt: 10136, max: 7866 },
  ],
  [
    "LM Studio, later",
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
    { prompt: 13055, max: 4096 },
  ],
  ["Ollama", "prompt too long; exceeded max context length by 17 tokens"],
  ["Ollama, vectors", "the input length exceeds the context length"],
  ["TensorRT-LLM", "Prompt length (9200) exceeds maximum input length (8192)", { prompt: 9200, max: 8192 }],
  [
    "DS4",
    "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
    { prompt: 5958968, max: 256000 },
  ],
  ["mlx-serve", "Prompt exceeds maximum context length"],
  ["Aphrodite", "Prompt length 5000 is greater than max_seq_len 4096", { prompt: 5000, max: 4096 }],
  [
    "LiteLLM",
    "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - Error code: 400 - This model's maximum context length is 16385 tokens. However, your messages resulted in 20000 tokens.",
    { prompt: 20000, max: 16385 },
  ],
  [
    "Xinference",
    "[address=0.0.0.0:43769, pid=1065] The decoder prompt (length 66501) is longer than the maximum model length of 65536.",
  ],
  ["a server of one's own", "Number of tokens in prompt must be at most 8192", { max: 8192 }],
  ["an engine's own", "The total length of all messages is too long."],
];

/** Refusals that a shorter conversation does not cure. */
const others: [source: string, sentence: string][] = [
  [
    "OpenAI, tokens a minute",
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 31538. The input or output tokens must be reduced in order to run successfully.",
  ],
  [
    "OpenAI, rate",
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
  ],
  [
    "Groq, tokens a minute",
    "Request too large for model `qwen/qwen3-32b` on tokens per minute (TPM): Limit 6000, Requested 7500, please reduce your message size and try again.",
  ],
  ["Anthropic, rate", "This request would exceed your organization's rate limit of 40,000 input tokens per minute."],
  ["Bedrock, rate", "Too many tokens, please wait before trying again."],
  ["Bedrock, day", "Too many tokens per day, please wait before trying again."],
  ["Gemini, quota", "You exceeded your current quota: generate_content_free_tier_input_token_count, limit: 250000"],
  ["Mistral, rate", "Requests rate limit exceeded: too many tokens in the last minute"],
  [
    "Groq, answer",
    "max_completion_tokens must be less than or equal to 40960, the maximum value for max_completion_tokens is less than the context_window for this model",
  ],
  [
    "OpenAI, answer",
    "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000.",
  ],
  [
    "Anthropic, answer",
    "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20240620",
  ],
  ["DeepSeek, answer", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"],
  ["Alibaba, answer", "InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"],
  [
    "Volcengine, answer",
    "The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 32768, but got 65536 instead.",
  ],
  [
    "Bedrock, answer",
    "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
  ],
  [
    "Vertex, answer",
    "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
  ],
  ["a gateway, answer", "max_tokens (384000) exceeds model's maximum output tokens (65536) for model deepseek-v4"],
  ["Moonshot, answer", "max_tokens exceeds the limit of 8192"],
  [
    "OpenAI, characters",
    "Invalid 'input': string too long. Expected a string with maximum length 10485760, but got a string with length 10485761 instead.",
  ],
  ["OpenAI, vectors", "Invalid 'input': maximum request size is 300000 tokens per request."],
  [
    "OpenAI, stop",
    "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.",
  ],
  [
    "OpenAI, tools",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
  ],
  [
    "Anthropic, image",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
  ],
  ["Anthropic, pages", "messages.0.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided."],
  ["Anthropic, body", "Request exceeds the maximum size"],
  ["Anthropic, marks", "A maximum of 4 blocks with cache_control may be provided. Found 5."],
  ["Anthropic, thinking", "`max_tokens` must be greater than `thinking.budget_tokens`."],
  ["a proxy", "Request Entity Too Large"],
  ["a tool", "Tool argument validation failed: input length exceeds 1000 characters"],
  ["a name", "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64."],
  ["speech", "Invalid 'input': the input text exceeds 4096 characters"],
  ["a context that is a field", "Unknown parameter: 'context_window'."],
  ["a row", "Model context length is not configured"],
  ["a row's context", "Model 'x' (context length: 8192) does not support tools"],
  ["a larger context", "The 1M context window is only available on tier 4"],
  ["a field's bound", "max_tokens: Input should be less than or equal to 8192"],
  ["pictures", "too many images in the prompt: 30 > 20"],
  ["sound", "Audio input exceeds the maximum length of 25 minutes"],
  ["a free tier", "This prompt is longer than the free tier allows for a single request."],
  ["nothing", ""],
];

test("A prompt that is too long is known by the sentences of all providers, with their figures", () => {
  const wrong = tooLong.flatMap(([source, sentence, figures = {}]) => {
    const bodies = [{ error: { message: sentence, type: "invalid_request_error" } }, { error: sentence }];
    const kinds = bodies.map((body) => {
      const text = JSON.stringify(body);
      return classifyRefusal({ status: 400, headers: new Headers(), body: text }).kind;
    });
    const read = JSON.parse(JSON.stringify(readContextFigures(sentence)));
    const isKnown = kinds.every((kind) => kind === "context_length");
    return isKnown && Bun.deepEquals(read, figures) ? [] : [{ source, kinds, read, figures }];
  });
  expect(wrong).toEqual([]);
});

test("A limit of a minute, of an answer, of a body or of a field is not taken for a prompt that is too long", () => {
  const taken = others.filter(([, sentence]) => {
    const body = JSON.stringify({ error: { message: sentence, type: "invalid_request_error" } });
    const kinds = [400, 429, 500].map((status) => classifyRefusal({ status, headers: new Headers(), body }).kind);
    return isContextLength(sentence) || kinds.includes("context_length");
  });
  expect(taken).toEqual([]);
});

test("A prompt that is too long is known by the code of a provider whatever its words and its status are", () => {
  const codes = ["context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded"];
  const kinds = codes.flatMap((code) =>
    [400, 500].flatMap((status) => [
      classifyRefusal({
        status,
        headers: new Headers(),
        body: JSON.stringify({ error: { message: "Too much", code } }),
      }).kind,
      classifyError({ error: { message: "Too much", type: code } }).kind,
    ]),
  );
  expect(new Set(kinds)).toEqual(new Set(["context_length"]));
});

test("A server that answers 500 or says it in its stream is understood, and one that limits the rate is not misunderstood", () => {
  const message = "Context size has been exceeded.";
  const body = JSON.stringify({ error: { code: 500, message, type: "server_error" } });
  expect(classifyRefusal({ status: 500, headers: new Headers(), body }).kind).toBe("context_length");
  expect(classifyError({ error: { message } }).kind).toBe("context_length");
  const limited = JSON.stringify({ error: { message: "prompt is too long: 9 tokens > 8 maximum" } });
  expect(classifyRefusal({ status: 429, headers: new Headers(), body: limited }).kind).toBe("rate_limited");
});

test("Bedrock's exceptions are told apart by their types first", () => {
  const kindOf = (type: string, message: string) => {
    const headers = new Headers({ "x-amzn-errortype": type });
    return bedrock.readError({ status: 400, headers, body: JSON.stringify({ message }) }).kind;
  };
  const sentences = tooLong.filter(([source]) => source.startsWith("Bedrock"));
  expect(sentences.filter(([, sentence]) => kindOf("ValidationException", sentence) !== "context_length")).toEqual([]);
  expect(kindOf("ThrottlingException", "Too many tokens, please wait before trying again.")).toBe("rate_limited");
  expect(kindOf("ValidationException", "The maximum tokens you requested exceeds the model limit of 4096.")).toBe(
    "bad_request",
  );
});

test("A message that was written to be slow to search takes less than a turn of the event loop may", () => {
  const words = [
    "prompt",
    "exceeds",
    "longer than",
    "max",
    "context",
    "tokens",
    "request",
    "too",
    "at most",
    "1,1",
    "; ",
  ];
  const hostile = words.flatMap((first) => words.map((second) => [first, second, "too long"]));
  const cpuMsMax = 100 * slowness();
  const slow = hostile.filter((phrase) => {
    const message = `${phrase.join(" ")} `.repeat(20_000);
    const before = process.cpuUsage();
    isContextLength(message);
    readContextFigures(message);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 > cpuMsMax;
  });
  expect(slow).toEqual([]);
});

test("llama.cpp's figures come from its fields", () => {
  const error = {
    code: 400,
    type: "exceed_context_size_error",
    message: "the request exceeds the available context size, try increasing it",
    n_prompt_tokens: 14429,
    n_ctx: 8192,
  };
  const fault = classifyRefusal({ status: 400, headers: new Headers(), body: JSON.stringify({ error }) });
  expect([fault.kind, fault.contextFigures]).toEqual(["context_length", { prompt: 14429, max: 8192 }]);
});

test("Each is said in Anthropic's words, by which clients compact their conversation or lower max_tokens", () => {
  const wordsOf = (sentence: string) => {
    const body = JSON.stringify({ error: { message: sentence } });
    const cause = readError({ status: 400, headers: new Headers(), body });
    return toMessagesError(new GatewayError("context_length_exceeded", cause.message, { cause }), "1").body.error
      .message;
  };
  const compacts =
    /^prompt is too long: \d+ tokens > \d+ maximum$|^input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+, |^prompt is too long: .* \(capability_rejected: prompt_too_long\)$/;
  expect(tooLong.filter(([, sentence]) => !compacts.test(wordsOf(sentence))).map(([source]) => source)).toEqual([]);
  expect(wordsOf("request (36023 tokens) exceeds the available context size (2048 tokens)")).toBe(
    "prompt is too long: 36023 tokens > 2048 maximum",
  );
  expect(
    wordsOf(
      "This model's maximum context length is 4096 tokens. However, you requested 4157 tokens (62 in the messages, 4095 in the completion).",
    ),
  ).toBe(
    "input length and `max_tokens` exceed context limit: 62 + 4095 > 4096, decrease input length or `max_tokens` and try again",
  );
});
