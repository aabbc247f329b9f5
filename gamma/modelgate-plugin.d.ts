// Types of the module that modelgate hands to plugins. Written by `modelgate plugin new`; the gateway does not read it.
// Write a new one after an update of the gateway.
declare module "modelgate/plugin" {
  /** One request on its way through a handler. */
  interface Call<Request> {
    /** The call's id: in the ledger, the log and the answer's `x-request-id`. */
    readonly id: string;
    /** The checked request in the uniform format. */
    readonly request: Request;
    readonly model: Model;
    /** Aborted when the caller leaves or the deadline passes. `upstream` observes it by itself. */
    readonly signal: AbortSignal;
    readonly upstream: Upstream;
    /**
     * Logs what a translation had to leave out or change. At most 500 characters of a sentence are kept. The names of
     * `ignored` request fields are sent to the caller in the header `x-modelgate-ignored`.
     */
    warn(sentence: string, ignored?: string | readonly string[]): void;
  }
  type Capability = (typeof capabilities)[number];
  /** One piece of a streamed chat answer (spec 2.3). `usage` may come on any chunk, also with `choices: []`; the last stands. */
  interface ChatChunk {
    id?: string;
    object?: "chat.completion.chunk";
    created?: number;
    model?: string;
    choices: ChunkChoice[];
    usage?: ChatUsage | null;
    [extension: string]: unknown;
  }
  /** The uniform chat answer (spec 2.2). */
  type ChatCompletion = {
    id: string;
    object: "chat.completion";
    created: number;
    model: string;
    choices: {
      index: number;
      message: {
        role: "assistant";
        content: string | null;
        refusal?: string | null;
        tool_calls?: ToolCall[];
        reasoning_content?: string | null;
        [extension: string]: unknown;
      };
      finish_reason: "stop" | "length" | "tool_calls" | "content_filter" | "function_call" | null;
      [extension: string]: unknown;
    }[];
    usage?: ChatUsage;
    [extension: string]: unknown;
  };
  /** Body of POST /chat/completions (spec 4.1). Fields not named here pass through to providers of the same dialect. */
  type ChatRequest = {
    model: string;
    messages: Message[];
    max_tokens?: number | null;
    max_completion_tokens?: number | null;
    temperature?: number | null;
    stream?: boolean | null;
    stream_options?: {
      include_usage?: boolean | null;
      [extension: string]: unknown;
    } | null;
    top_p?: number | null;
    frequency_penalty?: number | null;
    presence_penalty?: number | null;
    stop?: string | string[] | null;
    n?: number | null;
    tools?: Tool[] | null;
    tool_choice?: ToolChoice | null;
    parallel_tool_calls?: boolean | null;
    response_format?: ResponseFormat | null;
    seed?: number | null;
    logprobs?: boolean | null;
    top_logprobs?: number | null;
    reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
    functions?: FunctionDefinition[] | null;
    function_call?:
      | "auto"
      | "none"
      | {
          name: string;
          [extension: string]: unknown;
        }
      | null;
    user?: string | null;
    [extension: string]: unknown;
  };
  /**
   * Tokens of one chat answer, OpenAI's shape: cached and cache-written tokens are parts of `prompt_tokens`, reasoning
   * is a part of `completion_tokens`. `cache_write_tokens` (Anthropic bills it apart) and `cost` are our additions.
   */
  type ChatUsage = {
    prompt_tokens: number;
    completion_tokens?: number;
    total_tokens?: number;
    prompt_tokens_details?: {
      cached_tokens?: number | null;
      cache_write_tokens?: number | null;
      [extension: string]: unknown;
    } | null;
    completion_tokens_details?: {
      reasoning_tokens?: number | null;
      [extension: string]: unknown;
    } | null;
    cost?: number;
    [extension: string]: unknown;
  };
  /** A request and the plugin's own row of its model. */
  interface CheckInput<Request> {
    readonly request: Request;
    readonly model: Model;
  }
  /** One piece of a choice in a stream. */
  interface ChunkChoice {
    index: number;
    delta: {
      role?: "assistant";
      content?: string | null;
      refusal?: string | null;
      reasoning_content?: string;
      tool_calls?: ToolCallDelta[];
      function_call?: {
        name?: string;
        arguments?: string;
      };
      [extension: string]: unknown;
    };
    logprobs?: unknown;
    finish_reason?: FinishReason | null;
  }
  /** A part of a message's content: text, a picture by URL or data URL, or sound as base64. */
  type ContentPart =
    | {
        type: "text";
        text: string;
        [extension: string]: unknown;
      }
    | {
        type: "image_url";
        image_url: {
          url: string;
          detail?: string;
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      }
    | {
        type: "input_audio";
        input_audio: {
          data: string;
          format: string;
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      }
    | {
        type: "refusal";
        refusal: string;
        [extension: string]: unknown;
      }
    | {
        type: "file";
        file: {
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      };
  /**
   * The version of the contract between the gateway and its plugins. A plugin written for another version is refused at
   * load; `modelgate plugin upgrade` rewrites one of version 1.
   *
   * @example
   * contractVersion; // => 2
   */
  const contractVersion = 2;
  /** What an `embeddings` handler returns: the vectors in input order, and the provider's own token count where it has one. */
  interface Embeddings {
    vectors: (number[] | string)[];
    usage?:
      | {
          prompt_tokens: number;
        }
      | undefined;
  }
  /** Body of POST /embeddings. */
  type EmbeddingsRequest = {
    model: string;
    input: string | string[];
    dimensions?: number | null;
    encoding_format?: "float" | "base64" | null;
    user?: string | null;
    [extension: string]: unknown;
  };
  /** What is known of a provider's failure. */
  interface FaultDetails {
    /** The provider's HTTP status; absent when no answer came. */
    status?: number | undefined;
    /** The request field the provider named. */
    param?: string | undefined;
    /** The provider's own code (`context_length_exceeded`, `invalid_image_url` …). */
    code?: string | undefined;
    /** When the provider said a retry can succeed, in milliseconds from now. */
    retryAfterMs?: number | undefined;
    cause?: unknown;
  }
  /**
   * How a provider failed, told apart by what the gateway does next (wire facts: each provider's error table):
   *
   * | kind | meaning | tried elsewhere? | the caller sees |
   * |---|---|---|---|
   * | `bad_request` | the request itself is wrong | no | 400 with the provider's message |
   * | `context_length` | more tokens than the model takes | no | 400 `context_length_exceeded` |
   * | `model_not_found` | the provider does not have the model (any more) | next route | 400 `model_not_found` |
   * | `auth` | our credential was refused | next key | 500, never the provider's words |
   * | `insufficient_quota` | our account there is used up | next key | 500, never the provider's words |
   * | `rate_limited` | rate limited, retry later | next key | 429 with `retry-after` |
   * | `overloaded` | it is overloaded or down | yes | 500 |
   * | `bad_response` | no answer, or one that cannot be read | see below | 500 |
   * | `timeout` | no byte in the time allowed | see below | 500 `upstream_timeout` |
   *
   * After `bad_response` and `timeout` a request that was sent whole is not sent again: the provider may be working on it and
   * would bill it. It is tried elsewhere when no connection came about, or when `status` is an error (3xx to 5xx, `bad_response`).
   */
  type FaultKind =
    | "bad_request"
    | "context_length"
    | "model_not_found"
    | "auth"
    | "insufficient_quota"
    | "rate_limited"
    | "overloaded"
    | "bad_response"
    | "timeout";
  type FinishReason = (typeof finishReasons)[number];
  type FunctionDefinition = {
    name: string;
    description?: string | null;
    parameters?: {
      [extension: string]: unknown;
    } | null;
    strict?: boolean | null;
    [extension: string]: unknown;
  };
  /**
   * The one error a caller of the gateway sees. Thrown wherever the fault is noticed; only `http/errors.ts` makes a
   * response of it. The message says what was wrong, what was expected and what to do.
   *
   * @example
   * const error = new GatewayError("invalid_request", "n is 9, but this model takes at most 4", { param: "n" });
   * error.status; // => 400
   */
  class GatewayError extends Error {
    readonly code: ErrorCode;
    readonly param: string | undefined;
    readonly retryAfterMs: number | undefined;
    readonly publicCode: string;
    constructor(code: ErrorCode, message: string, details?: ErrorDetails);
    /** The HTTP status of this error's code. */
    get status(): number;
    /** The body in OpenAI's shape, the same for a JSON answer and for an error event in a stream. */
    toBody(): ErrorBody;
  }
  /** One generated picture as a handler returns it. */
  interface GeneratedImage {
    /** The bytes, or their base64 text when the provider sent that (it is passed on without decoding). */
    data: Uint8Array<ArrayBuffer> | string;
    /** `image/png`, `image/jpeg` or `image/webp`. */
    mediaType: string;
    /** The prompt as the model read it, where it says so. */
    revisedPrompt?: string | undefined;
  }
  /** What an `images` handler returns. */
  interface GeneratedImages {
    images: GeneratedImage[];
    /** As the provider reported it, for the caller; the price is by the picture. The kernel drops what is no usage. */
    usage?: Record<string, unknown> | undefined;
  }
  /**
   * Looks up a name that comes from outside in a table. Only the table's own entries count: a plain lookup would also find
   * `constructor`, which every object inherits.
   *
   * @returns `undefined` when the table has no such entry.
   *
   * @example
   * getOwn({ busy: "overloaded" }, "busy"); // => "overloaded"
   * getOwn({ busy: "overloaded" }, "constructor"); // => undefined
   */
  function getOwn<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined;
  /**
   * A plugin's way of serving each capability. A handler translates the request, sends it by `call.upstream` and translates the answer; ids,
   * timestamps, the public model name, tool-call indexes, usage counting, retries and deadlines are the kernel's.
   */
  interface Handlers {
    /** Returns a completion, or an iterable of chunks when `call.request.stream` is true. */
    chat?(call: Call<ChatRequest>): Promise<ChatCompletion | AsyncIterable<ChatChunk>>;
    embeddings?(call: Call<EmbeddingsRequest>): Promise<Embeddings>;
    images?(call: Call<ImagesRequest>): Promise<GeneratedImages>;
    transcription?(call: Call<TranscriptionRequest>): Promise<Transcript>;
    speech?(call: Call<SpeechRequest>): Promise<Speech>;
  }
  /** Body of POST /images/generations. `size` is open-ended: WIDTHxHEIGHT in pixels, or `auto`. */
  type ImagesRequest = {
    model: string;
    prompt: string;
    n?: number | null;
    size?: string | null;
    quality?: "standard" | "hd" | null;
    response_format?: "url" | "b64_json" | null;
    user?: string | null;
    stream?: boolean | null;
    [extension: string]: unknown;
  };
  /** One message of the conversation (spec 2.1), with the roles the field has since added. */
  type Message = {
    role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
    content?: string | ContentPart[] | null;
    name?: string | null;
    tool_calls?: ToolCall[] | null;
    tool_call_id?: string | null;
    function_call?: {
      name: string;
      arguments: string;
      [extension: string]: unknown;
    } | null;
    reasoning_content?: string | null;
    [extension: string]: unknown;
  };
  /** A row of a catalogue: one model as the gateway sells it and as its provider knows it. */
  type Model = {
    /** What clients write in `model`, without control characters */
    id: string;
    /** Other names clients know; an alias is answered with this row's id */
    aliases?: string[];
    /** What the provider calls it */
    upstreamId: string;
    capability: "chat" | "embeddings" | "images" | "transcription" | "speech";
    /** true: paid from the wallet; false: drawn from the daily free quota */
    premium: boolean;
    /** Prompt and answer together */
    contextTokens?: number;
    /** Of one embedding input */
    inputTokensMax?: number;
    /** Of one speech input */
    inputCharactersMax?: number;
    /** Of one transcription */
    audioMsMax?: number;
    outputTokensMax?: number;
    /** It reasons before it answers, and what it reasons is billed but not all shown */
    reasoning?: boolean;
    /** The longest silence of its provider; default 300 */
    timeoutSeconds?: number;
    /** The most that one picture of a prompt costs */
    imageTokensMax?: number;
    dimensions?: {
      default: number;
      min: number;
      /** Equal to min when the size is fixed */
      max: number;
    };
    /** Voice ids the model takes */
    voices?: string[];
    voiceDefault?: string;
    /** Language codes the model takes */
    languages?: string[];
    /** Hz */
    sampleRates?: number[];
    /** Request fields the model rejects: left out before the provider is asked */
    omit?: string[];
    /** Request fields it knows by another name */
    rename?: Record<string, string>;
    /** What the plugin's own dialect wants to know of it */
    options?: Record<string, unknown>;
    ownedBy: string;
    /** Seconds since 1970, as in the model object */
    created: number;
    price?: Price;
    /** Tokens of the daily free quota that one unit draws */
    quotaWeights?: {
      character?: number;
      image?: number;
      audioMs?: number;
      call?: number;
    };
    /** Lower is tried first; default 100 */
    priority?: number;
    /** Share among equals; default 1 */
    weight?: number;
    retiredOn?: string;
    successor?: string;
    /** Where the facts were read */
    source?: string;
    checkedOn?: string;
  };
  /** All that the gateway knows of a provider. Made by `definePlugin`, which fills in what a plugin leaves out. */
  interface ProviderPlugin {
    /** kebab-case; also the folder, the catalogue file, and the prefix of `<NAME>_API_KEY` and `<NAME>_BASE_URL`. */
    readonly name: string;
    readonly contractVersion: typeof contractVersion;
    /** Where the provider is, without a trailing slash. `<NAME>_BASE_URL` replaces it. */
    readonly baseUrl: string;
    /** Hosts beside that of `baseUrl` which the plugin may ask by a whole URL: `files.example.com`, with a port if any. */
    readonly hosts: readonly string[];
    /** `none`: needs no key and is served without one. */
    readonly credential: "key" | "none";
    /** The headers that carry a key. */
    authorize(key: string): Record<string, string>;
    readonly models: readonly Model[];
    readonly handlers: Handlers;
    /** Looked at before a call is admitted; without one, all that the schema lets through is translated. */
    readonly checks?: Checks | undefined;
    /** How many choices one request can ask for where the provider has a bound; beyond it the kernel sends several. */
    readonly maxChoices: Partial<Record<Extract<Capability, "chat" | "images">, number>>;
    /** Reads a refusal into a fault. */
    readFault(answer: RefusedResponse): UpstreamFault;
  }
  /** A provider's refusal as it came over the wire. */
  interface RefusedResponse {
    status: number;
    headers: Headers;
    /** The body as text, at most 64 kB of it. */
    body: string;
  }
  type ResponseFormat =
    | {
        type: "text";
        [extension: string]: unknown;
      }
    | {
        type: "json_object";
        [extension: string]: unknown;
      }
    | {
        type: "json_schema";
        json_schema: {
          name: string;
          schema?: {
            [extension: string]: unknown;
          };
          strict?: boolean | null;
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      };
  /** One event of a provider's SSE stream: `event:` name (`"message"` when unnamed) and its `data:` lines joined by `\n`. */
  interface ServerEvent {
    event: string;
    data: string;
  }
  /** What a `speech` handler returns: one valid WAV file, whole or as a stream of its bytes. */
  interface Speech {
    wav: Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array<ArrayBuffer>>;
  }
  /** Body of POST /audio/speech. The answer is always WAV, so `response_format` takes only `wav`. */
  type SpeechRequest = {
    model: string;
    input: string;
    voice?: string | null;
    response_format?: "wav" | null;
    stream_format?: "audio" | "sse" | null;
    speed?: number | null;
    target_language_code?: string | null;
    speech_sample_rate?: number | null;
    pace?: number | null;
    [extension: string]: unknown;
  };
  type Tool = {
    type: "function";
    function: FunctionDefinition;
    [extension: string]: unknown;
  };
  type ToolCall = {
    id: string;
    type: "function";
    function: {
      name: string;
      arguments: string;
      [extension: string]: unknown;
    };
    [extension: string]: unknown;
  };
  /** A piece of a tool call: the first piece of an index has `id` and `function.name`, the others only `arguments`. */
  interface ToolCallDelta {
    index?: number;
    id?: string;
    type?: "function";
    function?: {
      name?: string;
      arguments?: string;
    };
  }
  type ToolChoice =
    | "auto"
    | "none"
    | "required"
    | {
        type: "function";
        function: {
          name: string;
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      }
    | {
        type: "allowed_tools";
        allowed_tools: {
          [extension: string]: unknown;
        };
        [extension: string]: unknown;
      };
  /** What a `transcription` handler returns. Only the text is always known. */
  interface Transcript {
    text: string;
    /** Language name or code as the provider says it. */
    language?: string | undefined;
    /** Length of the audio in seconds as the provider measured it. */
    duration?: number | undefined;
    segments?: TranscriptSegment[] | undefined;
    words?: TranscriptWord[] | undefined;
  }
  /** What a `transcription` handler is given: the checked fields and the file, with its length where it could be read. */
  interface TranscriptionRequest extends TranscriptionFields {
    file: File;
    /** Length of the audio in milliseconds as the file itself says; absent when it does not. A caller can forge it. */
    audioMs?: number | undefined;
    /** The least and the most that so many bytes of this format can play, in milliseconds. Set by the kernel. */
    audioMsMin?: number | undefined;
    audioMsMax?: number | undefined;
    /** Names of the form's fields that no transcription takes. They are not sent, and the caller is told. */
    unknownFields?: readonly string[] | undefined;
  }
  type TranscriptSegment = {
    id: number;
    seek: number;
    /** Seconds */
    start: number;
    /** Seconds */
    end: number;
    text: string;
    tokens: number[];
    temperature: number;
    avg_logprob: number;
    compression_ratio: number;
    no_speech_prob: number;
  };
  type TranscriptWord = {
    word: string;
    start: number;
    end: number;
  };
  /**
   * A plugin's only access to the network. It adds one of the plugin's keys and stops at the call's deadline or when the
   * caller leaves. A path is appended to the base URL; a whole URL reaches one of the plugin's declared `hosts`, with the
   * same key. Requests to other hosts and to private addresses are refused, and redirects are not followed.
   *
   * Every method throws {@link UpstreamFault} when the provider answers outside 2xx, not in time, or not at all.
   */
  interface Upstream {
    /** POSTs JSON and reads a JSON answer. The answer is what the provider sent: check what you use. */
    json<T = unknown>(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<T>;
    /** POSTs a multipart form and reads a JSON answer. */
    form<T = unknown>(path: string, form: FormData, init?: UpstreamRequestOptions): Promise<T>;
    /** POSTs JSON and hands the binary answer on as it arrives. */
    bytes(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<UpstreamBytes>;
    /** POSTs JSON and reads the SSE answer; resolves with the first byte's headers, so that a refusal keeps its status. */
    events(path: string, body: unknown, init?: UpstreamRequestOptions): Promise<AsyncIterable<ServerEvent>>;
    /**
     * Fetches a public file that the caller or the provider's answer named (an image URL) for those who want the bytes.
     * https only, no private address, at most 20 MB and 10 s.
     *
     * @throws {GatewayError} `invalid_request` with the reason.
     */
    download(url: string): Promise<{
      bytes: Uint8Array<ArrayBuffer>;
      mediaType: string;
    }>;
  }
  /** A binary answer: its media type and its bytes as they arrive. */
  interface UpstreamBytes {
    mediaType: string;
    chunks: AsyncIterable<Uint8Array<ArrayBuffer>>;
  }
  /**
   * A provider's failure, before the gateway has decided what it means for the caller.
   *
   * @example
   * new UpstreamFault("bad_response", "The stream ended before its answer did").kind; // => "bad_response"
   */
  class UpstreamFault extends Error {
    readonly kind: FaultKind;
    readonly status: number | undefined;
    readonly param: string | undefined;
    readonly code: string | undefined;
    readonly retryAfterMs: number | undefined;
    constructor(kind: FaultKind, message: string, details?: FaultDetails);
  }
  /** What one request to the provider may add to the plugin's own headers. */
  interface UpstreamRequestOptions {
    headers?: Record<string, string>;
  }
  /**
   * Reads a vector from OpenAI's base64 form.
   *
   * @throws {RangeError} When the text is not base64, or not a whole number of float32.
   *
   * @example
   * base64ToFloats("AAAAPwAAgL4="); // => [0.5, -0.25]
   */
  function base64ToFloats(text: string): number[];
  /**
   * A vector as OpenAI's base64 form: float32, little-endian as every supported platform. What does not fit a float32 is rounded to one.
   *
   * @example
   * floatsToBase64([0.5, -0.25]); // => "AAAAPwAAgL4="
   */
  function floatsToBase64(floats: readonly number[]): string;
  /**
   * Reads base64 text, of the standard or the URL alphabet, with or without padding.
   *
   * @throws {RangeError} When the text holds anything else, white space included.
   *
   * @example
   * [...fromBase64("aGk=")]; // => [104, 105]
   */
  function fromBase64(text: string): Uint8Array<ArrayBuffer>;
  /**
   * Bytes as base64 text with padding.
   *
   * @example
   * toBase64(new Uint8Array([104, 105])); // => "aGk="
   */
  function toBase64(bytes: Uint8Array): string;
  /** The parts of a `data:` URL. */
  interface DataUrl {
    /** Lower case, without parameters: `image/png`. */
    mediaType: string;
    base64: string;
  }
  /**
   * Reads a `data:` URL, as clients send pictures in a message.
   *
   * @param param The request field it stands in, for the error.
   * @returns `undefined` when the text is no `data:` URL (an https address, most likely).
   * @throws {GatewayError} `invalid_request` when it is one, but malformed or empty.
   *
   * @example
   * readDataUrl("data:image/png;base64,aGk="); // => { mediaType: "image/png", base64: "aGk=" }
   * readDataUrl("https://example.com/a.png"); // => undefined
   */
  function readDataUrl(url: string, param?: string): DataUrl | undefined;
  /**
   * Reads a picture, a sound or a file that a client sent along, and holds it to what the model takes.
   *
   * @param source A `data:` URL, or what was fetched from an address.
   * @param mediaTypes Those the model takes; two names of one type are both read.
   * @param param The request field it stands in, for the error.
   * @throws {GatewayError} `invalid_request` when it is not a data URL, malformed, or of another type.
   *
   * @example
   * readMedia("data:image/png;base64,aGk=", ["image/png"], "messages[0].content[1]"); // => { mediaType: "image/png", base64: "aGk=" }
   */
  function readMedia(source: string | DataUrl, mediaTypes: readonly string[], param: string): DataUrl;
  /**
   * The headers that carry a key as most providers want it.
   *
   * @example
   * bearer("secret"); // => { authorization: "Bearer secret" }
   */
  function bearer(key: string): Record<string, string>;
  /**
   * Checks a plugin and fills in what it leaves out: `authorize` is {@link bearer}, `hosts` are none beside the base URL's,
   * `credential` is `"key"`, `maxChoices` has no bound, and refusals are read by {@link classifyFault}.
   *
   * @throws {PluginError} When something is missing, misspelt or does not fit together; the sentence says where and the cure.
   *
   * @example
   * const row = { id: "acme-1", upstreamId: "one", capability: "chat", premium: false, ownedBy: "acme", created: 0 };
   * const plugin = definePlugin({
   *   name: "acme",
   *   baseUrl: "https://api.acme.example/v1",
   *   models: readModels([row]),
   *   handlers: openai({ chat: {} }),
   * });
   * [plugin.credential, plugin.hosts]; // => ["key", []]
   */
  function definePlugin(definition: PluginDefinition): ProviderPlugin;
  /** What an author writes: a {@link ProviderPlugin} of which most can be left out. */
  type PluginDefinition = Pick<ProviderPlugin, "name" | "baseUrl" | "models" | "handlers"> &
    Partial<Omit<ProviderPlugin, "contractVersion">> & {
      /** The contract the plugin was written for; the current one when left out. */
      contractVersion?: number;
    };
  /** Which capabilities a provider has in OpenAI's dialect, each with what it does differently (`{}`: nothing). */
  interface OpenaiOptions {
    chat?: ChatOptions;
    embeddings?: EmbeddingsOptions;
    images?: ImagesOptions;
    transcription?: TranscriptionOptions;
    speech?: SpeechOptions;
  }
  /**
   * The handlers of a provider that speaks OpenAI's wire format. A capability that is not named has no handler. A model
   * row adds its own `omit` and `rename`, and its `options` may hold any quirk (`systemRole`, `think`, `values` …).
   *
   * @example
   * const handlers = openai({ chat: { omit: ["logprobs"], usageIn: "x_groq" }, transcription: {}, speech: {} });
   * Object.keys(handlers); // => ["chat", "transcription", "speech"]
   */
  function openai(options: OpenaiOptions): Handlers;
  /** What one chat provider does differently. */
  interface ChatOptions extends RequestOptions {
    /** Fields of a message it rejects. Default: those by which reasoning travels. */
    messageOmit?: readonly string[];
    /** What it calls a system message: `developer` becomes `system`, or the other way round. Both pass when left out. */
    systemRole?: "system" | "developer";
    /** Whether it takes the deprecated `functions` itself (`pass`) or they are sent as `tools` (`convert`, the default). */
    functions?: "pass" | "convert";
    /** The `reasoning_effort` values it takes; another is moved to the nearest; without a nearest one the field is left out. */
    reasoningEfforts?: readonly string[];
    /** The same in a request with tools, where that differs. */
    toolEfforts?: readonly string[];
    /** Request fields it rejects beside an effort other than `none`. */
    reasoningOmit?: readonly string[];
    /** Whether it takes `stream_options`. Default true: usage is always asked for. */
    streamOptions?: boolean;
    /** Whether it streams an answer held to a JSON schema. Default true; else such an answer is asked for whole. */
    streamsSchemas?: boolean;
    /** Fields of an answer that no OpenAI client knows: dropped wherever they stand. */
    drop?: readonly string[];
    /** Where its messages carry reasoning. Default `["reasoning_content", "reasoning"]`. */
    reasoningFields?: readonly string[];
    /** Whether the content begins with the reasoning as `<think>…</think>`. */
    think?: boolean;
    /** Its finish reasons in OpenAI's words. Default `{ eos: "stop" }`. */
    finishReasons?: Readonly<Record<string, string>>;
    /** The field of an answer or chunk that has the `usage` if it is not at the top level, such as `x_groq`. */
    usageIn?: string;
  }
  /** What one embedding provider does differently. */
  type EmbeddingsOptions = RequestOptions;
  /** What one image provider does differently. */
  type ImagesOptions = RequestOptions;
  /** How the requests of a provider differ from OpenAI's. All of it is data; a model row's `options` may have the same fields. */
  interface RequestOptions {
    /** Request fields the provider rejects: left out, and noted in the log. */
    omit?: readonly string[];
    /** Request fields it knows by another name. If the request has a field of that name too, that one is sent. */
    rename?: Readonly<Record<string, string>>;
    /** Values it knows by another name, by field: `{ quality: { hd: "high" } }`; `null` leaves the field out. */
    values?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    /** Fields to send unless the request has them: `{ reasoning_format: "parsed" }`. */
    extra?: Readonly<Record<string, unknown>>;
  }
  /** What one speech provider does differently. */
  type SpeechOptions = RequestOptions;
  /** What one transcription provider does differently. */
  interface TranscriptionOptions extends RequestOptions {
    /** Whether it has `verbose_json`, which tells the length of the audio. Default true. */
    verbose?: boolean;
  }
  /**
   * The effort nearest to the one asked for, the lower of two. Thinking is never turned off for a caller who asked for
   * some, so `none` is near to nothing but itself.
   *
   * @returns `undefined` when the model has no effort to choose.
   *
   * @example
   * nearestEffort("xhigh", ["low", "medium", "high"]); // => "high"
   * nearestEffort("low", []); // => undefined
   */
  function nearestEffort(asked: string, efforts: readonly string[]): string | undefined;
  /**
   * Makes the error for a request that the provider cannot serve (400 `invalid_request`). The caller throws it.
   *
   * @param param The field at fault, as a path: `messages[0].content[1].image_url.url`.
   *
   * @example
   * const error = badRequest("This model takes no images", "messages[0].content");
   * [error.code, error.status, error.param]; // => ["invalid_request", 400, "messages[0].content"]
   */
  function badRequest(message: string, param: string | undefined): GatewayError;
  /**
   * Thrown when a plugin or its catalogue cannot be loaded. The message says what is wrong, where, and what to do.
   *
   * @example
   * new PluginError("Cannot read the voices: expected a list").message; // => "Cannot read the voices: expected a list"
   */
  class PluginError extends Error {
    constructor(message: string, options?: ErrorOptions);
  }
  /**
   * Reads an error that came inside a 200 answer or a stream.
   *
   * @param body The JSON value that holds the error, or the text when it is not JSON.
   * @param status The status to go by when the error does not name one.
   *
   * @example
   * classifyError({ error: { message: "Busy", type: "overloaded_error" } }).kind; // => "overloaded"
   */
  function classifyError(body: unknown, status?: number): UpstreamFault;
  /**
   * Reads a refusal into a fault: `{"error":{"message","type","param","code"}}` in all its dialects, the same in an array,
   * and anything else (HTML, plain text, nothing). Sentences of the `key` and `quota` kinds are ours, never the provider's,
   * and no sentence carries a key or an account's name.
   *
   * @example
   * const body = JSON.stringify({ error: { message: "Slow down", code: "rate_limit_exceeded" } });
   * const headers = new Headers({ "retry-after": "7" });
   * const fault = classifyFault({ status: 429, headers, body });
   * [fault.kind, fault.retryAfterMs]; // => ["rate_limited", 7000]
   */
  function classifyFault(answer: RefusedResponse): UpstreamFault;
  /**
   * Whether a value is a JSON object: neither `null` nor an array.
   *
   * @example
   * [isRecord({}), isRecord([]), isRecord(null)]; // => [true, false, false]
   */
  function isRecord(value: unknown): value is Record<string, unknown>;
  /**
   * Reads JSON that may be none, as tool results and error bodies are. Returns `undefined` then.
   *
   * @example
   * parseJson('{"a":1}'); // => { a: 1 }
   * parseJson("<html>"); // => undefined
   */
  function parseJson(text: string): unknown;
  /**
   * The subset of OpenAPI 3.0 schemas, as providers take them whose own format is protobuf.
   *
   * @see https://ai.google.dev/api/caching#Schema
   *
   * @example
   * reduceSchema({ type: ["string", "null"] }, openApiSubset).schema; // => { type: "string", nullable: true }
   */
  const openApiSubset: SchemaSubset;
  /** A schema within a subset, and the JSON pointers (`/properties/a/not`), as it is written out, of what was left out of it. */
  interface ReducedSchema {
    schema: Record<string, unknown>;
    dropped: string[];
  }
  /**
   * Rewrites a JSON schema in the words a provider takes: references are put in place (a cycle ends in a bare type),
   * `allOf` is merged, `oneOf` becomes `anyOf`, `const` a one-value `enum`, and "or null" takes the subset's form.
   * What the subset has no word for is left out and reported.
   *
   * @param param The request field the schema stands in, for the error.
   * @throws {GatewayError} `invalid_request` when it is no object, nested beyond 128 steps or unfolding to more than
   *   10 000 schemas.
   *
   * @example
   * const { schema } = reduceSchema({ const: "yes" }, openApiSubset);
   * schema.enum; // => ["yes"]
   */
  function reduceSchema(schema: unknown, subset: SchemaSubset, param?: string): ReducedSchema;
  /** Which JSON schemas a provider takes, as data. */
  interface SchemaSubset {
    /** Keywords kept beside `type`, `enum`, `properties`, `required`, `items` and `anyOf`, which every subset has. */
    readonly keywords: ReadonlySet<string>;
    /** Values of `format` that are kept. */
    readonly formats: ReadonlySet<string>;
    /** How "or null" is said: `nullable: true` beside the type, or an `anyOf` with `{ "type": "null" }`. */
    readonly nullForm: "nullable" | "anyOf";
    /** `strings`: an `enum` of anything else becomes a sentence of the description. */
    readonly enumOf: "strings" | "anything";
    /** Whether every object says `additionalProperties: false`. */
    readonly closedObjects: boolean;
    /** Whether an array must say `items`; where it does not, strings are assumed. */
    readonly itemsRequired: boolean;
  }
  /**
   * The subset of strict structured outputs: objects closed, no bounds on numbers, lengths or counts.
   *
   * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs
   *
   * @example
   * reduceSchema({ type: "integer", minimum: 1 }, strictSubset).dropped; // => ["/minimum"]
   */
  const strictSubset: SchemaSubset;
  /**
   * A map with a bound on its entries: when it is full, the least recently used one is dropped.
   *
   * @example
   * const thoughts = new LruMap(2);
   * for (const id of ["a", "b", "c"]) thoughts.set(id, `of ${id}`);
   * [thoughts.get("a"), thoughts.get("c")]; // => [undefined, "of c"]
   */
  class LruMap<Value extends {}> {
    #private;
    constructor(countMax: number);
    get(key: string): Value | undefined;
    set(key: string, value: Value): void;
  }
  /**
   * Fetches the pictures that messages name by address, each once, for providers that want their bytes.
   *
   * @returns The pictures by their addresses; those sent as `data:` URLs are not among them.
   * @throws {GatewayError} `invalid_request`, with the part's place, when one cannot be fetched or there are more than 16.
   *
   * @example
   * const url = "https://example.com/a.png";
   * const content = [{ type: "image_url", image_url: { url } }];
   * const download = async () => ({ bytes: new Uint8Array([104, 105]), mediaType: "image/png" });
   * const images = await fetchImages([{ role: "user", content }], { download });
   * images.get(url); // => { mediaType: "image/png", base64: "aGk=" }
   */
  function fetchImages(messages: readonly Message[], upstream: Upstream): Promise<Map<string, DataUrl>>;
  /**
   * Stands for the pictures of a request before they were fetched: every https address is a PNG.
   *
   * @example
   * placeholderImages.get("https://example.com/a.jpg").mediaType; // => "image/png"
   */
  const placeholderImages: Pick<ReadonlyMap<string, DataUrl>, "get">;
  /**
   * Makes a plugin's pure translation its `checks.chat`. It runs where a request holds what a provider may not take: parts
   * other than text, tools, their results, or an asked format. The deprecated `functions` are left to the handler, which
   * turns them into tools first.
   *
   * @param translate Throws `invalid_request` for what it cannot say; what it returns is dropped, and so are its notes.
   *
   * @example
   * const seen = [];
   * const check = precheckMultimodal((request) => seen.push(request.tools.length));
   * check({ request: { messages: [{ role: "user", content: "Hi" }] } });
   * check({ request: { messages: [], tools: [{ type: "function", function: { name: "weather" } }] } });
   * seen; // => [1]
   */
  function precheckMultimodal(translate: Translate): (asked: CheckInput<ChatRequest>) => void;
  /** What has a shape; of an object's members each may be absent. */
  type ParsedShape<S> = S extends "string"
    ? string
    : S extends "number"
      ? number
      : S extends "boolean"
        ? boolean
        : S extends "any"
          ? unknown
          : S extends readonly [infer Member]
            ? ParsedShape<Member>[]
            : keyof S extends never
              ? Record<string, unknown>
              : {
                  -readonly [Name in keyof S]?: ParsedShape<S[Name]> | undefined;
                };
  /**
   * Makes an answer what it should be: members of another kind (`null`, most often) are taken away, in place, so that they
   * count as absent. Members that the shape does not name stay as they are.
   *
   * @returns Whether the value itself is of the kind.
   * @throws {UpstreamFault} `bad_response` for a list with something else in it, as what it says would be told in part.
   *
   * @example
   * parseShape({ text: "Hi", signature: null }, { text: "string", signature: "string" }); // => true
   * parseShape(null, { text: "string" }); // => false
   */
  function parseShape<const S extends Shape>(value: unknown, shape: S): value is ParsedShape<S>;
  /** What something should be: of a type, a list of such, or an object with these members; `{}` is any object. */
  type Shape =
    | "string"
    | "number"
    | "boolean"
    | "any"
    | readonly [Shape]
    | {
        readonly [name: string]: Shape;
      };
  /**
   * Reads a catalogue: `{ "models": [ … ] }` or the bare array of rows.
   *
   * @throws {PluginError} When a row is malformed, a premium model lacks a price it is sold by, or two rows share a name.
   * The sentence names the row, the field and what was expected.
   *
   * @example
   * const row = { id: "acme-1", upstreamId: "one", capability: "chat", premium: false, ownedBy: "acme", created: 0 };
   * readModels({ models: [row] })[0].upstreamId; // => "one"
   */
  function readModels(file: unknown): Model[];
  /**
   * {@link splitReasoningTags} for an answer in pieces. The tags may be cut anywhere; the pieces together give the same.
   *
   * @example
   * const splitter = new ReasoningTagSplitter();
   * const pieces = ["<thi", "nk>Hm</think>Yes"].map((text) => splitter.push(text));
   * pieces.map(({ content, reasoning }) => [content, reasoning]); // => [["", ""], ["Yes", "Hm"]]
   */
  class ReasoningTagSplitter {
    #private;
    /** Takes the next piece. Text that could be the beginning of a tag is held back until it is known. */
    push(text: string): SplitText;
    /** Says that no more text comes, and gives what was held back. */
    flush(): SplitText;
  }
  /** An answer's text with the model's thinking taken out of it. Either may be empty. */
  interface SplitText {
    content: string;
    reasoning: string;
  }
  /**
   * Takes a leading `<think>…</think>` out of a whole answer. Only a tag at the beginning (white space aside) counts, so
   * that text about the tag stays as it is. Thinking that was never closed is all reasoning.
   *
   * @example
   * splitReasoningTags("<think>Hm</think>Yes"); // => { content: "Yes", reasoning: "Hm" }
   */
  function splitReasoningTags(text: string): SplitText;
  /** The one text of a header, or `null`: what `Headers` offers. */
  interface HeaderReader {
    get(name: string): string | null;
  }
  /**
   * Reads a duration as Go writes it: `120ms`, `7.66s`, `6m0s`, `1h2m3.4s`.
   *
   * @returns Whole milliseconds rounded up, or `undefined` when the text is no duration.
   *
   * @example
   * readDurationMs("1m7.5s"); // => 67500
   * readDurationMs("soon"); // => undefined
   */
  function readDurationMs(text: string): number | undefined;
  /**
   * When a provider said that a retry can succeed. Read from, in this order: `retry-after-ms`, `retry-after` (seconds or a
   * date), the body (Gemini's `retryDelay`, OpenAI's and Groq's "try again in 7.66s"), and the `x-ratelimit-reset-*` of
   * what is used up.
   *
   * @param body The answer's body as text, for the providers that say it there.
   * @returns Milliseconds from `nowMs`, whole, never negative; `undefined` when the provider did not say.
   *
   * @example
   * retryAfterMs(new Headers({ "retry-after": "7" })); // => 7000
   */
  function retryAfterMs(headers: HeaderReader, body?: string, nowMs?: number): number | undefined;
  /**
   * The most characters one event may have unless told otherwise: 1 Mi, some hundred times a provider's longest.
   *
   * @example
   * eventCharactersMaxDefault; // => 1048576
   */
  const eventCharactersMaxDefault: number;
  /**
   * Reads server-sent events from bytes as they arrive, cut anywhere, also inside a character.
   *
   * @throws {UpstreamFault} `bad_response` when one event grows beyond `eventCharactersMax`.
   *
   * @example
   * const bytes = new TextEncoder().encode("event: piece\ndata: 1\n\n");
   * const events = await Array.fromAsync(readEvents(ReadableStream.from([bytes.slice(0, 9), bytes.slice(9)])));
   * events; // => [{ event: "piece", data: "1" }]
   */
  function readEvents(chunks: AsyncIterable<Uint8Array>, eventCharactersMax?: number): AsyncGenerator<ServerEvent>;
  /**
   * Reads server-sent events from text that arrives in pieces of any size. Line ends may be `\n`, `\r\n` or `\r`.
   *
   * An event named `raw` carries text outside of any field: JSON or HTML that a failing server wrote into the stream. It is
   * returned when a field follows it or the stream ends.
   *
   * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
   *
   * @example
   * const parser = new SseParser();
   * const events = [...parser.push("data: 1\n\nda"), ...parser.push("ta: 2\n\n"), ...parser.end()];
   * events.map(({ data }) => data); // => ["1", "2"]
   */
  class SseParser {
    #private;
    constructor(eventCharactersMax?: number);
    /**
     * Takes the next piece of text.
     *
     * @returns The events it completed, in order, often none.
     * @throws {UpstreamFault} `bad_response` when one event grows beyond the bound.
     */
    push(text: string): ServerEvent[];
    /** Ends the stream. Returns what is unfinished: a last event without its blank line, or `raw` text. */
    end(): ServerEvent[];
  }
  /**
   * The part of a chat request that a provider with its own wire format can be told. Fields in the row's `omit`, and those
   * that are not translated, are left out and noted; `null` is taken for absent.
   *
   * @param translated The fields that have a counterpart there.
   *
   * @example
   * const lost = [];
   * const request = { model: "m", messages: [], top_p: 0.9, seed: 7, stop: null };
   * const asked = pickSupportedFields(request, ["top_p", "stop"], {}, (sentence) => lost.push(sentence));
   * [asked, lost.length]; // => [{ model: "m", messages: [], top_p: 0.9 }, 1]
   */
  function pickSupportedFields(
    request: ChatRequest,
    translated: readonly string[],
    { omit }: Model,
    warn: Call<ChatRequest>["warn"],
  ): ChatRequest;
  /**
   * Tells of the fields of a request that a provider with its own wire format is not sent.
   *
   * @param known The fields that are translated, and those that ask nothing of the provider.
   *
   * @example
   * const lost = [];
   * warnOfOthers({ model: "m", style: "vivid", user: null }, ["model"], (_, fields) => lost.push(fields));
   * lost; // => [["style"]]
   */
  function warnOfOthers(request: object, known: readonly string[], warn: Call<unknown>["warn"]): void;
  /**
   * The results of an assistant message's tool calls, one for each call and in the order of the calls, for providers that
   * pair them by their place.
   *
   * @param index Where the assistant message stands. Its results are the tool messages right after it.
   * @throws {GatewayError} `invalid_request` when a call has no result or two, or a result has no call.
   *
   * @example
   * const call = { id: "1", type: "function", function: { name: "weather", arguments: "{}" } };
   * const messages = [{ role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "1", content: "mild" }];
   * getToolResults(messages, 0)[0].message.content; // => "mild"
   */
  function getToolResults(messages: readonly Message[], index: number): ToolResult[];
  /**
   * The arguments of a tool call as an object, for providers that take no text. No text at all is no arguments.
   *
   * @param param The call's place in the request, for the error.
   * @throws {GatewayError} `invalid_request` when they are no JSON object.
   *
   * @example
   * const call = { id: "1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
   * readArguments(call, "messages[1].tool_calls[0]"); // => { city: "Paris" }
   */
  function readArguments(call: ToolCall, param: string): Record<string, unknown>;
  /**
   * Reads `tool_choice` against the request's tools.
   *
   * @returns `undefined` when nothing is chosen, or there are no tools to choose from.
   * @throws {GatewayError} `invalid_request` when it demands a call without tools, or names a tool that is not among them.
   *
   * @example
   * const tools = [{ type: "function", function: { name: "weather" } }];
   * readToolChoice({ tools, tool_choice: "required" }); // => { mode: "required" }
   */
  function readToolChoice({ tool_choice: choice, tools }: ChatRequest): ToolDecision | undefined;
  /**
   * The refusal of a tool message that follows no assistant message with its call.
   *
   * @example
   * resultWithoutCall("messages[3].tool_call_id").param; // => "messages[3].tool_call_id"
   */
  function resultWithoutCall(param: string): GatewayError;
  /** What `tool_choice` comes to, in all its forms. */
  interface ToolDecision {
    mode: "none" | "auto" | "required";
    /** The functions that may be called, when not all may: the one that is named, or those of `allowed_tools`. */
    names?: string[];
  }
  /** A tool message, the call it answers, and where it stands in the conversation. */
  interface ToolResult {
    call: ToolCall;
    message: Message;
    index: number;
  }
  /**
   * Makes a chat handler take the deprecated `functions` and `function_call` without knowing of them: they reach it as
   * `tools` and `tool_choice`, and a call it answers with goes back as `function_call`. Requests without them pass as
   * they are.
   *
   * @example
   * const chat = withFunctionsAsTools(async ({ request }) => ({ choices: [], tools: request.tools }));
   * const answer = await chat({ request: { messages: [], functions: [{ name: "weather" }] } });
   * answer.tools; // => [{ type: "function", function: { name: "weather" } }]
   */
  function withFunctionsAsTools(chat: Chat): Chat;
  /**
   * Joins WAV files of one format into one, in order.
   *
   * @throws {UpstreamFault} `bad_response` when there is none, one cannot be read, or their formats differ.
   *
   * @example
   * const wav = writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 });
   * wavMs(joinWav([wav, wav])); // => 2
   */
  function joinWav(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer>;
  /**
   * Reads a WAV file. Sizes of 0 or 0xFFFFFFFF, or beyond the end, as streaming encoders leave them, mean "to the end".
   *
   * @throws {UpstreamFault} `bad_response` when the bytes are no WAV file of PCM or float samples.
   *
   * @example
   * const wav = writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 });
   * readWav(wav).sampleRate; // => 8000
   */
  function readWav(bytes: Uint8Array<ArrayBuffer>): Wav;
  /** Sound as plain samples, and how to read them. */
  interface Wav {
    /** Interleaved samples, little-endian. */
    pcm: Uint8Array<ArrayBuffer>;
    /** Hz. */
    sampleRate: number;
    channels: number;
    bitsPerSample: number;
    /** 1: whole numbers (PCM), the default when writing; 3: IEEE floats. */
    format?: number | undefined;
  }
  /**
   * How long a WAV file plays, in whole milliseconds rounded up. `undefined` when it cannot be read.
   *
   * @example
   * wavMs(writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 })); // => 1
   */
  function wavMs(bytes: Uint8Array<ArrayBuffer>): number | undefined;
  /**
   * Writes a WAV file with a header of 44 bytes.
   *
   * @example
   * writeWav({ pcm: new Uint8Array(16), sampleRate: 8000, channels: 1, bitsPerSample: 16 }).length; // => 60
   */
  function writeWav(wav: Wav): Uint8Array<ArrayBuffer>;
  /** What a model can do; each is one endpoint and one handler of a plugin. */
  const capabilities: readonly ["chat", "embeddings", "images", "transcription", "speech"];
  const finishReasons: readonly ["stop", "length", "tool_calls", "content_filter", "function_call"];
  type ErrorCode = keyof typeof errorTable;
  /** What may stand beside the sentence of a {@link GatewayError}. */
  interface ErrorDetails {
    /** The request field at fault, as a path: `messages[0].role`. */
    param?: string | undefined;
    /** After how many milliseconds a retry can succeed; becomes `retry-after` in whole seconds. */
    retryAfterMs?: number | undefined;
    /** A provider's or an SDK's own code, shown in place of ours (the status stays ours). */
    publicCode?: string | undefined;
    cause?: unknown;
  }
  /** The JSON body of every failed answer, OpenAI's shape: all four members always there. */
  interface ErrorBody {
    error: {
      message: string;
      type: string;
      param: string | null;
      code: string | null;
    };
  }
  /** The price of a model: a rate a meter. An absent meter has no known price, which is not the same as being free. */
  type Price = {
    inputToken?: Rate;
    cacheReadToken?: Rate;
    cacheWriteToken?: Rate;
    outputToken?: Rate;
    image?: Rate;
    audioMs?: Rate;
    character?: Rate;
    call?: Rate;
    /** Added to every rate */
    markupPercent?: number;
    tiers?: {
      aboveInputTokens: number;
      inputToken?: Rate;
      cacheReadToken?: Rate;
      cacheWriteToken?: Rate;
      outputToken?: Rate;
      image?: Rate;
      audioMs?: Rate;
      character?: Rate;
      call?: Rate;
    }[];
  };
  /**
   * Checks that refuse a request before anything is held for it, because the provider could not serve it. They are pure
   * and cheap; the handler translates what passes in full.
   *
   * Every check throws {@link GatewayError} `invalid_request`, naming the field and what is expected there.
   */
  interface Checks {
    chat?(input: CheckInput<ChatRequest>): void;
    embeddings?(input: CheckInput<EmbeddingsRequest>): void;
    images?(input: CheckInput<ImagesRequest>): void;
    transcription?(input: CheckInput<TranscriptionRequest>): void;
    speech?(input: CheckInput<SpeechRequest>): void;
  }
  /** Fields of POST /audio/transcriptions beside the file, as text from the multipart form made typed. */
  type TranscriptionFields = {
    model: string;
    /** ISO 639-1 code */
    language?: string;
    response_format?: "json" | "text" | "verbose_json";
    temperature?: number;
    prompt?: string;
    stream?: boolean;
    timestamp_granularities?: ("word" | "segment")[];
  };
  type Translate = (
    request: ChatRequest,
    asked: CheckInput<ChatRequest> & {
      warn: () => void;
    },
  ) => unknown;
  type Chat = (call: Call<ChatRequest>) => Promise<ChatCompletion | AsyncIterable<ChatChunk>>;
  /**
   * Every way a request to the gateway can end badly: one row a code. HTTP status and OpenAI `type` follow from the
   * code, so that no other file chooses a status. A test compares it with the table in docs/api.md.
   */
  const errorTable: {
    readonly invalid_request: {
      readonly status: 400;
      readonly type: "invalid_request_error";
    };
    readonly model_not_found: {
      readonly status: 400;
      readonly type: "invalid_request_error";
    };
    readonly context_length_exceeded: {
      readonly status: 400;
      readonly type: "invalid_request_error";
    };
    readonly invalid_api_key: {
      readonly status: 401;
      readonly type: "invalid_request_error";
    };
    readonly invalid_session: {
      readonly status: 401;
      readonly type: "invalid_request_error";
    };
    readonly quota_exceeded: {
      readonly status: 403;
      readonly type: "insufficient_quota";
    };
    readonly insufficient_balance: {
      readonly status: 403;
      readonly type: "insufficient_quota";
    };
    readonly budget_exceeded: {
      readonly status: 403;
      readonly type: "insufficient_quota";
    };
    readonly model_not_allowed: {
      readonly status: 403;
      readonly type: "permission_error";
    };
    readonly forbidden: {
      readonly status: 403;
      readonly type: "permission_error";
    };
    readonly not_found: {
      readonly status: 404;
      readonly type: "invalid_request_error";
    };
    readonly method_not_allowed: {
      readonly status: 405;
      readonly type: "invalid_request_error";
    };
    readonly conflict: {
      readonly status: 409;
      readonly type: "invalid_request_error";
    };
    readonly payload_too_large: {
      readonly status: 413;
      readonly type: "invalid_request_error";
    };
    readonly rate_limit_exceeded: {
      readonly status: 429;
      readonly type: "rate_limit_error";
    };
    readonly upstream_error: {
      readonly status: 500;
      readonly type: "upstream_error";
    };
    readonly upstream_timeout: {
      readonly status: 500;
      readonly type: "upstream_error";
    };
    readonly internal_error: {
      readonly status: 500;
      readonly type: "server_error";
    };
    readonly unavailable: {
      readonly status: 503;
      readonly type: "server_error";
    };
  };
  /** A rate as people write it: decimal US dollars for a number of units, `{ "usd": "0.10", "per": 1000000 }`. */
  type Rate = {
    /** Decimal US dollars, at most nine decimals */
    usd: string;
    /** For this many units */
    per: number;
  };

  export {
    badRequest,
    base64ToFloats,
    bearer,
    Call,
    Capability,
    ChatChunk,
    ChatCompletion,
    ChatOptions,
    ChatRequest,
    ChatUsage,
    CheckInput,
    ChunkChoice,
    ContentPart,
    classifyError,
    classifyFault,
    contractVersion,
    DataUrl,
    definePlugin,
    Embeddings,
    EmbeddingsOptions,
    EmbeddingsRequest,
    eventCharactersMaxDefault,
    FaultDetails,
    FaultKind,
    FinishReason,
    FunctionDefinition,
    fetchImages,
    floatsToBase64,
    fromBase64,
    GatewayError,
    GeneratedImage,
    GeneratedImages,
    getOwn,
    getToolResults,
    Handlers,
    HeaderReader,
    ImagesOptions,
    ImagesRequest,
    isRecord,
    joinWav,
    LruMap,
    Message,
    Model,
    nearestEffort,
    OpenaiOptions,
    openApiSubset,
    openai,
    ParsedShape,
    PluginDefinition,
    PluginError,
    ProviderPlugin,
    parseJson,
    parseShape,
    pickSupportedFields,
    placeholderImages,
    precheckMultimodal,
    ReasoningTagSplitter,
    ReducedSchema,
    RefusedResponse,
    RequestOptions,
    ResponseFormat,
    readArguments,
    readDataUrl,
    readDurationMs,
    readEvents,
    readMedia,
    readModels,
    readToolChoice,
    readWav,
    reduceSchema,
    resultWithoutCall,
    retryAfterMs,
    SchemaSubset,
    ServerEvent,
    Shape,
    Speech,
    SpeechOptions,
    SpeechRequest,
    SplitText,
    SseParser,
    splitReasoningTags,
    strictSubset,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolChoice,
    ToolDecision,
    ToolResult,
    Transcript,
    TranscriptionOptions,
    TranscriptionRequest,
    TranscriptSegment,
    TranscriptWord,
    toBase64,
    Upstream,
    UpstreamBytes,
    UpstreamFault,
    UpstreamRequestOptions,
    Wav,
    warnOfOthers,
    wavMs,
    withFunctionsAsTools,
    writeWav,
  };
}
