import { createHash, createHmac, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { eventStreamReply } from "./event-stream.ts";

/** A request that a cloud accepted. */
export interface CloudRequest {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

interface Cloud {
  readonly origin: string;
  readonly asked: CloudRequest[];
  /** How often a token was given. */
  readonly tokens: { count: number };
  close(): void;
}

function serve(answer: (request: Request, text: string, cloud: Cloud) => Response): Cloud {
  const cloud = { asked: [] as CloudRequest[], tokens: { count: 0 } } as unknown as {
    -readonly [K in keyof Cloud]: Cloud[K];
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => answer(request, await request.text(), cloud),
  });
  cloud.origin = `http://127.0.0.1:${server.port}`;
  cloud.close = () => void server.stop(true);
  return cloud;
}

function keep(cloud: Cloud, { url, headers }: Request, text: string): CloudRequest {
  const { pathname, search } = new URL(url);
  const kept = { path: pathname + search, headers, body: JSON.parse(text) as Record<string, unknown> };
  cloud.asked.push(kept);
  return kept;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** Whether a request is signed by AWS Signature Version 4 with this secret, for Bedrock in this region, in the last minutes. */
function isSigned({ method, url, headers }: Request, body: string, secret: string, region: string): boolean {
  const form =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/bedrock\/aws4_request, SignedHeaders=([\w;-]+), Signature=([\da-f]{64})$/;
  const [, , day = "", place, names = "", signature] = form.exec(headers.get("authorization") ?? "") ?? [];
  const time = headers.get("x-amz-date") ?? "";
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (place !== region || !time.startsWith(day) || !(Math.abs(Date.now() - at) < 300_000)) return false;
  const signed = names.split(";");
  if (!["content-type", "host", "x-amz-date"].every((name) => signed.includes(name))) return false;
  const { pathname, searchParams } = new URL(url);
  const path = pathname.split("/").map(encodeURIComponent).join("/");
  searchParams.sort();
  const lines = signed.map((name) => `${name}:${headers.get(name)}`);
  const canonical = [method, path, searchParams.toString(), ...lines, "", names, sha256(body)].join("\n");
  const key = [day, region, "bedrock", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secret}`) as Buffer;
  const text = ["AWS4-HMAC-SHA256", time, `${day}/${region}/bedrock/aws4_request`, sha256(canonical)].join("\n");
  return hmac(key, text).toString("hex") === signature;
}

const converseUsage = { inputTokens: 12, outputTokens: 5, totalTokens: 17 };

/** Bedrock's runtime, for one access key (with its session token, if any) and one API key. */
export function startBedrock(keys: { secret: string; session?: string; apiKey: string; region: string }): Cloud {
  return serve((request, text, cloud) => {
    const isBearer = request.headers.get("authorization") === `Bearer ${keys.apiKey}`;
    const isOwn = isSigned(request, text, keys.secret, keys.region);
    const session = request.headers.get("x-amz-security-token") ?? undefined;
    if (!isBearer && !(isOwn && session === keys.session)) {
      const headers = { "x-amzn-errortype": "InvalidSignatureException:http://internal.amazon.com/coral/" };
      return Response.json({ message: "The request signature we calculated does not match" }, { status: 403, headers });
    }
    const { path } = keep(cloud, request, text);
    if (!path.endsWith("/converse-stream")) {
      const output = { message: { role: "assistant", content: [{ text: "Signed and sealed" }] } };
      return Response.json({ output, stopReason: "end_turn", usage: converseUsage, metrics: { latencyMs: 1 } });
    }
    const { body, headers } = eventStreamReply(
      ["messageStart", { role: "assistant" }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Signed and sealed" } }],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: "end_turn" }],
      ["metadata", { usage: converseUsage, metrics: { latencyMs: 1 } }],
    );
    return new Response(body, { headers });
  });
}

/** Vertex AI and Google's token endpoint, for one service account and one key of Express mode. */
/** The services of an instance of EC2 and of a container, which give keys of their role. */
export function startAwsMachine(keys: { id: string; secret: string; session: string; containerToken: string }): Cloud {
  const tokens = new Set<string>();
  const roles = "/latest/meta-data/iam/security-credentials/";
  return serve((request, _, cloud) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/latest/api/token" && request.method === "PUT") {
      if (request.headers.get("x-aws-ec2-metadata-token-ttl-seconds") === null)
        return new Response("", { status: 400 });
      const token = `imds-token-${tokens.size}`;
      tokens.add(token);
      return new Response(token);
    }
    const isInstance = tokens.has(request.headers.get("x-aws-ec2-metadata-token") ?? "");
    const isContainer = request.headers.get("authorization") === keys.containerToken && pathname === "/v1/credentials";
    if (pathname === roles && isInstance) return new Response("the-role");
    if (!isContainer && !(isInstance && pathname === `${roles}the-role`)) return new Response("", { status: 401 });
    cloud.tokens.count++;
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    return Response.json({ AccessKeyId: keys.id, SecretAccessKey: keys.secret, Token: keys.session, Expiration });
  });
}

export function startVertex({ apiKey }: { apiKey: string }): Cloud & { serviceAccount(): string } {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const publicKey = createPublicKey(privateKey);
  const email = "gateway@my-project.iam.gserviceaccount.com";
  const given = new Set<string>();
  const cloud = serve((request, text, self) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/computeMetadata/v1/instance/service-accounts/default/token") {
      if (request.headers.get("metadata-flavor") !== "Google") return new Response("Who?", { status: 403 });
      const token = `ya29.token-of-machine-${++self.tokens.count}`;
      given.add(token);
      return Response.json({ access_token: token, expires_in: 3599, token_type: "Bearer" });
    }
    if (pathname === "/token") {
      const form = new URLSearchParams(text);
      const [head = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".");
      const said = JSON.parse(Buffer.from(claims, "base64url").toString() || "{}") as Record<string, unknown>;
      const isSound =
        form.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
        verify("sha256", Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, "base64url")) &&
        said.iss === email &&
        said.aud === `${self.origin}/token` &&
        said.scope === "https://www.googleapis.com/auth/cloud-platform" &&
        Number(said.exp) - Number(said.iat) <= 3600 &&
        Math.abs(Number(said.iat) - Date.now() / 1000) < 60;
      if (!isSound)
        return Response.json({ error: "invalid_grant", error_description: `Not ${email}` }, { status: 400 });
      const token = `ya29.token-of-vertex-${++self.tokens.count}`;
      given.add(token);
      return Response.json({ access_token: token, expires_in: 3599, token_type: "Bearer" });
    }
    const token = request.headers.get("authorization")?.slice("Bearer ".length);
    const isKnown = token === undefined ? request.headers.get("x-goog-api-key") === apiKey : given.has(token);
    if (!isKnown)
      return Response.json({ error: { code: 401, message: "Who?", status: "UNAUTHENTICATED" } }, { status: 401 });
    const { body } = keep(self, request, text);
    if (pathname.includes("/publishers/anthropic/")) {
      if (body.anthropic_version !== "vertex-2023-10-16" || "model" in body) return Response.json({}, { status: 400 });
      const content = [{ type: "text", text: "Claude on Vertex" }];
      const usage = { input_tokens: 7, output_tokens: 3 };
      return Response.json({
        type: "message",
        role: "assistant",
        model: "claude",
        content,
        stop_reason: "end_turn",
        usage,
      });
    }
    const answer = { candidates: [{ content: { parts: [{ text: "Gemini on Vertex" }] }, finishReason: "STOP" }] };
    return Response.json({ ...answer, usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 3 } });
  });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  const serviceAccount = () =>
    JSON.stringify({
      type: "service_account",
      project_id: "my-project",
      private_key_id: "key-1",
      private_key: pem,
      client_email: email,
      token_uri: `${cloud.origin}/token`,
    });
  return Object.assign(cloud, { serviceAccount });
}

/** Azure OpenAI with Claude on Foundry, and Entra's token endpoint. */
export function startAzure(keys: { apiKey: string; tenant: string; clientId: string; clientSecret: string }): Cloud {
  const given = new Set<string>();
  return serve((request, text, cloud) => {
    const { pathname } = new URL(request.url);
    if (pathname === `/${keys.tenant}/oauth2/v2.0/token`) {
      const form = Object.fromEntries(new URLSearchParams(text));
      const isSound =
        form.grant_type === "client_credentials" &&
        form.client_id === keys.clientId &&
        form.client_secret === keys.clientSecret &&
        form.scope === "https://cognitiveservices.azure.com/.default";
      if (!isSound)
        return Response.json({ error: "invalid_client", error_description: "AADSTS7000215" }, { status: 401 });
      const token = `eyJ0-token-of-entra-${++cloud.tokens.count}`;
      given.add(token);
      return Response.json({ access_token: token, expires_in: 3599, token_type: "Bearer" });
    }
    const { headers } = request;
    const isClaude = pathname.startsWith("/anthropic/");
    const token = headers.get("authorization")?.slice("Bearer ".length);
    const isKnown =
      token === undefined ? headers.get(isClaude ? "x-api-key" : "api-key") === keys.apiKey : given.has(token);
    if (!isKnown) return Response.json({ error: { code: "401", message: "Access denied" } }, { status: 401 });
    const { body } = keep(cloud, request, text);
    if (isClaude) {
      const content = [{ type: "text", text: "Claude on Foundry" }];
      const usage = { input_tokens: 7, output_tokens: 3 };
      return Response.json({
        type: "message",
        role: "assistant",
        model: "claude",
        content,
        stop_reason: "end_turn",
        usage,
      });
    }
    if (JSON.stringify(body.messages).includes("forbidden")) {
      const content_filter_result = { violence: { filtered: true, severity: "high" }, jailbreak: { detected: false } };
      const innererror = { code: "ResponsibleAIPolicyViolation", content_filter_result };
      const error = {
        code: "content_filter",
        message: "The response was filtered",
        param: "prompt",
        status: 400,
        innererror,
      };
      return Response.json({ error }, { status: 400 });
    }
    if (body.model === "not-deployed") {
      const message = "The API deployment for this resource does not exist.";
      return Response.json({ error: { code: "DeploymentNotFound", message } }, { status: 404 });
    }
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    const filtered = { content_filter_results: { hate: { filtered: false, severity: "safe" } } };
    const head = {
      id: "x",
      created: 1,
      model: "gpt",
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    };
    if (body.stream !== true) {
      const choice = {
        index: 0,
        message: { role: "assistant", content: "Deployed" },
        finish_reason: "stop",
        ...filtered,
      };
      return Response.json({ ...head, object: "chat.completion", choices: [choice], usage });
    }
    const events = [
      { ...head, choices: [] },
      {
        id: "x",
        choices: [{ index: 0, delta: { role: "assistant", content: "Deployed" }, finish_reason: null, ...filtered }],
      },
      { id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop", ...filtered }] },
      { id: "x", choices: [], usage },
    ];
    const sse = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
    return new Response(sse, { headers: { "content-type": "text/event-stream" } });
  });
}
