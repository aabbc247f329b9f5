import type { Capability } from "../../contract/index.ts";
import type { ModelEntry } from "../../kernel/index.ts";
import { commonFields } from "../../protocols/inbound.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";

/** Bodies of the writes below /organization that are answered, for the OpenAPI document. */
const organizationExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "/organization/projects": { name: "Search", budget_usd: "100.00", budget_period: "month" },
  "/organization/projects/{project_id}": { name: "Search and find", budget_usd: null },
  "/organization/projects/{project_id}/credits": { usd: "25.00", note: "November", reference: "invoice-1042" },
  "/organization/projects/{project_id}/reversals": {
    transaction_id: "credit:acc_4f0c:invoice-1042",
    note: "Meant 25, not 250",
  },
  "/organization/projects/{project_id}/rate_limits": { model: "gpt-4.1", max_requests_per_1_minute: 60 },
  "/organization/projects/{project_id}/rate_limits/{rate_limit_id}": { max_requests_per_1_minute: 600 },
  "/organization/rate_limits": { model: "gpt-4.1", max_tokens_per_1_minute: 200_000 },
  "/organization/rate_limits/{rate_limit_id}": { max_concurrent_calls: 4 },
  "/organization/projects/{project_id}/markups": { markup_percent: "10" },
  "/organization/projects/{project_id}/markups/{markup_id}": { markup_percent: "12.5" },
  "/organization/markups": { provider: "openai", markup_percent: "20" },
  "/organization/markups/{markup_id}": { markup_percent: "25" },
  "/organization/projects/{project_id}/policies": { policy: "no-projects", order: 10, on_failure: "open" },
  "/organization/projects/{project_id}/policies/{policy_id}": { order: 20 },
  "/organization/policies": { policy: "no-projects", order: 10, on_failure: "open" },
  "/organization/policies/{policy_id}": { order: 20 },
  "/organization/reroutes": { subject: "model", name: "gpt-4.1", to_model: "gpt-4.1-mini", ends_in_seconds: 3600 },
  "/organization/reroutes/{reroute_id}": { ends_at: 4_102_444_800 },
  "/organization/role_limits/{role}": { max_requests_per_1_minute: 300, free_tokens_per_day: 100_000 },
  "/organization/projects/{project_id}/budgets": { subject: "end_user", budget_usd: "1.00", budget_period: "day" },
  "/organization/projects/{project_id}/budgets/{budget_id}": { raise_usd: "5.00", raise_until: 4_102_444_800 },
  "/organization/budgets": { subject: "account", budget_usd: "100.00", budget_period: "month" },
  "/organization/budgets/{budget_id}": { budget_usd: "150.00" },
  "/organization/projects/{project_id}/group_roles": { group: "search-developers", role: "member" },
  "/organization/projects/{project_id}/group_roles/{group_role_id}": { role: "admin", leavers_keys: "keep" },
  "/organization/group_roles": { group: "gateway-viewers", role: "viewer" },
  "/organization/group_roles/{group_role_id}": { role: "admin" },
  "/organization/projects/{project_id}/api_keys": {
    name: "website",
    expires_in_seconds: 7_776_000,
    budget_usd: "5.00",
    budget_period: "day",
    allowed_networks: ["203.0.113.0/24"],
  },
  "/organization/projects/{project_id}/api_keys/{key_id}": { name: "website", budget_usd: null },
  "/organization/projects/{project_id}/api_keys/{key_id}/rotate": { grace_seconds: 3600 },
  "/organization/projects/{project_id}/service_accounts": { name: "nightly job" },
  "/organization/projects/{project_id}/service_accounts/{service_account_id}/api_keys": { name: "second key" },
  "/organization/projects/{project_id}/sessions/{session}/end": { agent: "a3f29c01d7e45b688" },
  "/organization/projects/{project_id}/users": { email: "ada@example.com", role: "member" },
  "/organization/projects/{project_id}/users/{user_id}": { role: "owner" },
  "/organization/users/{user_id}": { role: "viewer" },
  "/organization/invites": { email: "grace@example.com", role: "reader" },
  "/organization/config": {
    accounts: [{ email: "search@teams.example", kind: "team", name: "Search", budget_usd: "100.00" }],
    keys: [{ account: "search@teams.example", name: "website", budget_usd: "5.00", budget_period: "day" }],
  },
  "/organization/providers": {
    name: "acme",
    manifest: {
      baseUrl: "https://api.acme.example/v1",
      dialect: "openai",
      models: [{ id: "acme/llama", upstreamId: "llama", premium: false }],
    },
    key: "acme-key-of-the-provider",
    priority: 5,
  },
  "/organization/providers/{provider_id}": { enabled: true, weight: null },
  "/organization/providers/{provider_id}/test": {},
  "/organization/providers/{provider_id}/resume": {},
  "/organization/providers/{provider_id}/keys": { key: "second-key-of-the-provider" },
  "/organization/providers/{provider_id}/keys/{provider_key_id}": { key: "newer-key-of-the-provider" },
  "/organization/provider_tests": {
    name: "acme-next",
    manifest: {
      baseUrl: "https://api.acme.example/v1",
      dialect: "openai",
      models: [{ id: "acme/llama-next", upstreamId: "llama-next", premium: false }],
    },
    key: "key-that-is-not-saved-yet",
  },
  "/organization/sandbox": { setting: "auto" },
  "/organization/catalogue": {
    revision: "*",
    files: { openai: { models: [{ id: "famA-4.1-nano", premium: false }] } },
  },
  "/organization/catalogue/models/{catalogue_model_id}": { row: { premium: false, aliases: ["nano"] } },
  "/organization/catalogue/unlisted/{provider_id}": {
    terms: {
      premium: true,
      price: { inputToken: { usd: "15", per: 1_000_000 }, outputToken: { usd: "75", per: 1_000_000 } },
    },
  },
  "/organization/catalogue/files/{file_id}": { content: { models: [{ id: "famA-4.1-nano", premium: false }] } },
  "/organization/mail_server": {
    host: "mail.example.com",
    port: 587,
    tls: false,
    user: "gateway",
    password: "password-of-the-mail-server",
    from: "gateway@example.com",
  },
  "/organization/jwt_issuers": {
    issuers: [{ issuer: "https://id.example.com", audiences: ["modelgate"], claims: { account: "email" } }],
  },
  "/organization/credentials/lookup": {
    credentials: [{ type: "api_key", id: "k3TmVqX8bZ2nW9sYc4", sha256: "0".repeat(64) }],
  },
  "/organization/credentials/revoke": { type: "api_key", id: "k3TmVqX8bZ2nW9sYc4" },
  "/organization/admin_api_keys": { name: "reports", scopes: ["usage:read"], expires_in_seconds: 86_400 },
};

interface RequestDoc {
  /** The capability of the model in the example. */
  readonly capability: Capability;
  /** The body of a request that is answered, but for the model. */
  readonly example?: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, string>>;
}

const { model, user } = commonFields;
/** A PNG of one pixel. */
const dot =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Endpoints that no inbound format describes. */
const docs: Readonly<Record<string, RequestDoc>> = {
  // Only a provider of the Responses protocol compacts, so no example is answered everywhere.
  "/responses/compact": { capability: "chat", fields: { model } },
  "/messages/count_tokens": {
    capability: "chat",
    example: { messages: [{ role: "user", content: "Say hello" }] },
    fields: { model },
  },
  "/responses/input_tokens": { capability: "chat", example: { input: "Say hello" }, fields: { model } },
  "/embeddings": {
    capability: "embeddings",
    example: { input: ["The sky is blue", "Grass is green"] },
    fields: {
      model,
      input: "A text or several; each gets a vector",
      dimensions: "Length of the vectors, for models that can shorten them",
      encoding_format: "Numbers, or their bytes in base64",
      user,
    },
  },
  "/moderations": {
    capability: "moderation",
    example: { input: "Is this a friendly text?" },
    fields: {
      model,
      input: "A text or several, each with its own result; or parts of one input, which may be images",
    },
  },
  "/rerank": {
    capability: "rerank",
    example: { query: "What colour is the sky?", documents: ["Grass is green", "The sky is blue"], top_n: 1 },
    fields: {
      model,
      query: "What the documents are to be relevant to",
      documents: "Texts, or objects whose fields are the text",
      return_documents: "Whether results have their documents",
    },
  },
  "/images/generations": {
    capability: "images",
    example: { prompt: "A lighthouse at dusk", size: "1024x1024" },
    fields: {
      model,
      prompt: "What the image shows",
      n: "How many images to generate; each is charged",
      size: "Width and height in pixels",
      quality: "`hd` is finer and may cost more; `high`, `xhigh` and `max` where the model has them",
      response_format: "A link that expires, or the bytes in base64",
      user,
    },
  },
  "/images/edits": {
    capability: "images",
    example: { prompt: "The same at night", images: [{ image_url: dot }] },
    fields: {
      model,
      prompt: "What the image is to show",
      images: "Up to 16 images that the new one is made of",
      mask: "An image whose transparent parts are those of the first one that may change",
      n: "How many images to make; each is charged",
      size: "Width and height in pixels",
      quality: "As for generated images",
      response_format: "A link that expires, or the bytes in base64",
      user,
    },
  },
  "/audio/translations": {
    capability: "transcription",
    fields: {
      model,
      file: "The recording, up to 25 MB",
      response_format: "`verbose_json` has segments with times, `srt` and `vtt` are subtitles",
      temperature: "0 gives the most likely text",
      prompt: "English names and words that occur, to be spelled right",
    },
  },
  "/audio/speech": {
    capability: "speech",
    example: { input: "Good evening" },
    fields: {
      model,
      input: "The text to speak",
      voice: "A voice of the model; default: the model's own",
      response_format: "The format of the audio",
      speed: "1 is the voice's own speed",
    },
  },
  "/audio/transcriptions": {
    capability: "transcription",
    fields: {
      model,
      file: "The recording, up to 25 MB",
      response_format: "`verbose_json` has segments with times, `srt` and `vtt` are subtitles",
      temperature: "0 gives the most likely transcript",
      prompt: "Names and words that occur, to be spelled right",
      timestamp_granularities: "Whether `verbose_json` has times of words, of segments, or both",
    },
  },
};

interface RequestBody {
  content: Record<string, { example?: unknown; schema: { properties?: Record<string, object> } }>;
}

/** Adds an example that is answered, and what each field means, to the body of an operation of the OpenAPI document. */
export function describeRequest(
  path: string,
  { content }: RequestBody,
  models: readonly ModelEntry[],
  inbounds: readonly ClientFormat[],
): void {
  const managed = organizationExamples[path.slice(Math.max(0, path.indexOf("/organization")))];
  if (managed !== undefined && content["application/json"] !== undefined) content["application/json"].example = managed;
  const [, doc] = Object.entries(docs).find(([suffix]) => path.endsWith(suffix)) ?? [];
  const inbound = inbounds.find(({ endpoints: [first] }) => first !== undefined && path.endsWith(first));
  const example = inbound?.example ?? doc?.example;
  const id = pickModel(models, doc?.capability ?? "chat");
  for (const [type, body] of Object.entries(content)) {
    if (example !== undefined && id !== undefined && type === "application/json") {
      body.example = { model: id, ...example };
    }
    const { properties = {} } = body.schema;
    for (const [name, description] of Object.entries(inbound?.fields ?? doc?.fields ?? {})) {
      const field = properties[name] as { description?: string } | undefined;
      if (field !== undefined) field.description ??= description;
    }
  }
}

/** A model of this capability that anybody may call: free and not retired, if there is one. */
function pickModel(models: readonly ModelEntry[], capability: Capability): string | undefined {
  const today = new Date().toISOString().slice(0, 10);
  const able = models.map((entry) => entry.model).filter((each) => each.capability === capability);
  const current = able.filter(({ retiredOn }) => retiredOn === undefined || retiredOn > today);
  const model = current.find(({ premium }) => !premium) ?? current[0] ?? able[0];
  return model && getDisplayName(model);
}
