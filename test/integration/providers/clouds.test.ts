import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import bedrock from "../../../plugins/bedrock/index.ts";
import { startAwsMachine, startAzure, startBedrock, startVertex } from "../../support/clouds.ts";
import { until } from "../../support/until.ts";
import { enter, type Node, open as openStoreOf, start, useNode } from "./fixture.ts";

const secrets = {
  aws: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  session: "FwoGZXIvYXdzEBYaDHqa0AP-session-token",
  apiKey: "a-key-of-the-cloud-0123456789",
  client: "entra~client.secret-0123456789",
};
const bedrockKeys = { secret: secrets.aws, apiKey: secrets.apiKey, region: "eu-central-1" };
const azureKeys = { apiKey: secrets.apiKey, tenant: "contoso", clientId: "client-1", clientSecret: secrets.client };

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
function opened<Cloud extends { close(): void }>(cloud: Cloud): Cloud {
  closing.push(cloud.close);
  return cloud;
}

/** A gateway with a caller who can pay. */
async function open(env: Record<string, string> = {}) {
  const store = await (await openStoreOf("sqlite"))();
  const node = await start(store, { SANDBOX: "off", GROQ_API_KEY: "gsk_only-so-that-it-starts", ...env });
  const { cookie, key } = await enter(store);
  const ask = async (model: string, more: object = {}, path = "/v1/chat/completions") => {
    const messages = [{ role: "user", content: "Hi" }];
    const response = await fetch(`${node.origin}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages, max_tokens: 50, ...more }),
    });
    const cost = response.headers.get("x-modelgate-cost-usd");
    return { status: response.status, cost, text: await response.text() };
  };
  return { node, ask, ...(await useNode(node, cookie)) };
}

function addRows(node: Node, plugin: string, rows: object[]): void {
  const folder = join(node.home, "catalogue");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${plugin}.json`), JSON.stringify({ models: rows }));
}

const said = (text: string) =>
  (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

describe("Bedrock", () => {
  const machineKeys = { id: "ASIAIOSFODNN7EXAMPLE", secret: secrets.aws, session: secrets.session };
  test.each(["instance", "container"])(
    "is asked with the role of the machine, an %s, where that is chosen",
    async (machine) => {
      const cloud = opened(startBedrock({ ...bedrockKeys, session: secrets.session }));
      const containerToken = "token-of-the-container-0123456789";
      const service = opened(startAwsMachine({ ...machineKeys, containerToken }));
      const file = join(mkdtempSync(join(tmpdir(), "modelgate-machine-")), "token");
      writeFileSync(file, `${containerToken}\n`);
      const { ask, node } = await open({
        BEDROCK_REGION: "eu-central-1",
        BEDROCK_MACHINE: machine,
        BEDROCK_BASE_URL: cloud.origin,
        AWS_EC2_METADATA_SERVICE_ENDPOINT: service.origin,
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.origin}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
      });
      const model = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
      const all = await Promise.all([ask(model), ask(model), ask(model)]);
      expect(all.map(({ text }) => said(text))).toEqual(Array(3).fill("Signed and sealed"));
      expect(said((await ask(model)).text)).toBe("Signed and sealed");
      expect(service.tokens.count).toBe(1);
      expect(node.lines.join("")).not.toMatch(/session-token|token-of-the-container/);
    },
  );

  test("does not ask the machine where it was not chosen, and says so where the machine has no role", async () => {
    const cloud = opened(startBedrock(bedrockKeys));
    const service = opened(startAwsMachine({ ...machineKeys, containerToken: "x" }));
    const machine = { AWS_EC2_METADATA_SERVICE_ENDPOINT: service.origin, BEDROCK_REGION: "eu-central-1" };
    const model = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    const own = await open({ ...machine, BEDROCK_API_KEY: secrets.apiKey, BEDROCK_BASE_URL: cloud.origin });
    expect(said((await own.ask(model)).text)).toBe("Signed and sealed");
    expect(service.tokens.count).toBe(0);
    const { ask, ...rest } = await open({ ...machine, BEDROCK_MACHINE: "container", BEDROCK_BASE_URL: cloud.origin });
    expect((await ask(model)).status).toBe(500);
    const tested = (await (await rest.send("POST", "/providers/bedrock/test", {})).json()) as {
      ok: boolean;
      error: string;
    };
    expect(tested).toMatchObject({ ok: false, error: expect.stringContaining("no credential service aws-container") });
  });

  test("is asked with a signature that holds, whole and streamed, once its own settings are there", async () => {
    const cloud = opened(startBedrock({ ...bedrockKeys, session: secrets.session }));
    const { ask } = await open({
      BEDROCK_REGION: "eu-central-1",
      BEDROCK_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      BEDROCK_SECRET_ACCESS_KEY: secrets.aws,
      BEDROCK_SESSION_TOKEN: secrets.session,
      BEDROCK_BASE_URL: cloud.origin,
    });
    const model = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    const whole = await ask(model);
    expect(said(whole.text)).toBe("Signed and sealed");
    const { inputToken, outputToken } = bedrock.models.find(({ id }) => id === model)?.price ?? {};
    const costUsd = (12 * Number(inputToken?.usd) + 5 * Number(outputToken?.usd)) / 1_000_000;
    expect(Number(whole.cost)).toBeCloseTo(costUsd, 9);
    const { text } = await ask(model, { stream: true, stream_options: { include_usage: true } });
    expect(text).toContain("Signed and sealed");
    expect(text).toContain('"prompt_tokens":12');
    expect(cloud.asked.map(({ path }) => path)).toEqual([
      "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
      "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
    ]);
  });

  test("is not active by what lies in the environment for other programs", async () => {
    const { find, ask } = await open({
      AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      AWS_SECRET_ACCESS_KEY: secrets.aws,
      AWS_REGION: "eu-central-1",
      AWS_BEARER_TOKEN_BEDROCK: secrets.apiKey,
      GOOGLE_APPLICATION_CREDENTIALS: "/nowhere.json",
      GOOGLE_CLOUD_PROJECT: "p",
    });
    for (const name of ["azure", "bedrock", "vertex"])
      expect(await find(name)).toMatchObject({ status: "no_credential" });
    expect((await ask("bedrock/amazon.nova-pro-v1:0")).status).toBe(400);
  });

  test("is switched on in the dashboard by its fields, of which the secret ones are never seen again", async () => {
    const cloud = opened(startBedrock(bedrockKeys));
    const { node, send, find, ask } = await open({ BEDROCK_BASE_URL: cloud.origin });
    expect((await find("bedrock")) as unknown).toMatchObject({
      credential: "fields",
      credential_form: {
        fields: expect.arrayContaining([expect.objectContaining({ name: "region", variable: "BEDROCK_REGION" })]),
      },
    });
    const refused = await send("POST", "/providers/bedrock/keys", {
      fields: { region: "eu-central-1/", api_key: secrets.apiKey },
    });
    expect([refused.status, await refused.text()]).toEqual([400, expect.not.stringContaining(secrets.apiKey)]);
    const partial = await send("POST", "/providers/bedrock/keys", { fields: { region: "eu-central-1" } });
    expect(await partial.json()).toMatchObject({ error: { message: expect.stringContaining("it is not set") } });
    const access = { region: "eu-central-1", access_key_id: "AKIAIOSFODNN7EXAMPLE", secret_access_key: secrets.aws };
    expect((await send("POST", "/providers/bedrock/keys", { fields: access })).status).toBe(200);
    expect(
      (await send("POST", "/providers/bedrock/keys", { fields: { region: "eu-central-1", api_key: secrets.apiKey } }))
        .status,
    ).toBe(200);
    expect(await (await send("POST", "/providers/bedrock/test", {})).json()).toMatchObject({ ok: true });
    const shown = (await find("bedrock")) as unknown as { keys: { fields: object; last4: string }[] };
    expect(shown.keys.map(({ fields, last4 }) => ({ fields, last4 }))).toEqual([
      { fields: { region: "eu-central-1", access_key_id: "AKIAIOSFODNN7EXAMPLE" }, last4: "EKEY" },
      { fields: { region: "eu-central-1" }, last4: "6789" },
    ]);
    // The two take turns.
    const before = cloud.asked.length;
    for (let call = 0; call < 2; call++) expect((await ask("bedrock/amazon.nova-pro-v1:0")).status).toBe(200);
    const ways = cloud.asked.slice(before).map(({ headers }) => headers.get("authorization")?.split(" ")[0]);
    expect(ways.sort()).toEqual(["AWS4-HMAC-SHA256", "Bearer"]);
    expect(JSON.stringify(shown) + node.lines.join("")).not.toContain(secrets.aws);
    expect(JSON.stringify(shown) + node.lines.join("")).not.toContain(secrets.apiKey);
  });

  test("serves a model that a file adds by its name there, an ARN too", async () => {
    const cloud = opened(startBedrock(bedrockKeys));
    const { node, ask } = await open({
      BEDROCK_REGION: "eu-central-1",
      BEDROCK_API_KEY: secrets.apiKey,
      BEDROCK_BASE_URL: cloud.origin,
    });
    const upstreamId = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc123";
    const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "5", per: 1_000_000 } };
    const row = {
      id: "ours",
      upstreamId,
      capability: "chat",
      premium: true,
      ownedBy: "us",
      created: 0,
      contextTokens: 100_000,
      price,
    };
    addRows(node, "bedrock", [row]);
    await until(async () => (await ask("ours")).status === 200);
    expect(cloud.asked[0]?.path).toBe(`/model/${encodeURIComponent(upstreamId)}/converse`);
    addRows(node, "bedrock", [{ ...row, options: { cachePoint: true } }]);
    await until(async () => node.lines.some((line) => line.includes("did you mean cachePoints?")));
    expect((await ask("ours")).status).toBe(200);
  });

  test("that refuses the signature pauses the key, and the caller learns nothing of it", async () => {
    const cloud = opened(startBedrock({ ...bedrockKeys, secret: "another" }));
    const { ask } = await open({
      BEDROCK_REGION: "eu-central-1",
      BEDROCK_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      BEDROCK_SECRET_ACCESS_KEY: secrets.aws,
      BEDROCK_BASE_URL: cloud.origin,
    });
    const { status, text } = await ask("bedrock/amazon.nova-pro-v1:0");
    expect([status, text]).toEqual([500, expect.not.stringContaining("signature")]);
  });
});

describe("Vertex", () => {
  test("is asked with the token of the machine's service account, where that is chosen", async () => {
    const cloud = opened(startVertex({ apiKey: secrets.apiKey }));
    const { ask, node } = await open({
      VERTEX_PROJECT: "my-project",
      VERTEX_LOCATION: "europe-west4",
      VERTEX_MACHINE: "google",
      VERTEX_BASE_URL: cloud.origin,
      GCE_METADATA_HOST: new URL(cloud.origin).host,
    });
    const all = await Promise.all([ask("vertex/gemini-3.8-flash"), ask("vertex/claude-opus-5")]);
    expect(all.map(({ text }) => said(text))).toEqual(["Gemini on Vertex", "Claude on Vertex"]);
    expect(cloud.tokens.count).toBe(1);
    expect(node.lines.join("")).not.toContain("token-of-machine");
  });

  test("is asked with one token for Gemini and Claude, at the place whose price the row has", async () => {
    const cloud = opened(startVertex({ apiKey: secrets.apiKey }));
    const { ask, node } = await open({
      VERTEX_PROJECT: "my-project",
      VERTEX_LOCATION: "europe-west4",
      VERTEX_SERVICE_ACCOUNT: cloud.serviceAccount(),
      VERTEX_BASE_URL: cloud.origin,
    });
    const all = await Promise.all([
      ask("vertex/gemini-3.8-flash"),
      ask("vertex/claude-opus-5"),
      ask("vertex/regional/claude-opus-5"),
    ]);
    expect(all.map(({ text }) => said(text))).toEqual(["Gemini on Vertex", "Claude on Vertex", "Claude on Vertex"]);
    const place = (location: string) => `/v1/projects/my-project/locations/${location}/publishers`;
    expect(cloud.asked.map(({ path }) => path).sort()).toEqual(
      [
        `${place("global")}/google/models/gemini-3.8-flash:generateContent`,
        `${place("global")}/anthropic/models/claude-opus-5:rawPredict`,
        `${place("europe-west4")}/anthropic/models/claude-opus-5:rawPredict`,
      ].sort(),
    );
    expect(cloud.tokens.count).toBe(1);
    expect(node.lines.join("")).not.toContain("token-of-vertex");
  });

  test("takes Claude's own protocol from its clients", async () => {
    const cloud = opened(startVertex({ apiKey: secrets.apiKey }));
    const { ask } = await open({
      VERTEX_PROJECT: "my-project",
      VERTEX_LOCATION: "global",
      VERTEX_SERVICE_ACCOUNT: cloud.serviceAccount(),
      VERTEX_BASE_URL: cloud.origin,
    });
    const { text } = await ask("vertex/claude-opus-5", {}, "/v1/messages");
    expect(JSON.parse(text)).toMatchObject({
      type: "message",
      content: [{ text: "Claude on Vertex" }],
      model: "vertex/claude-opus-5",
    });
    expect(cloud.asked[0]?.body).not.toHaveProperty("model");
  });

  test("is asked with a key of Express mode, without a project", async () => {
    const cloud = opened(startVertex({ apiKey: secrets.apiKey }));
    const { ask } = await open({ VERTEX_API_KEY: secrets.apiKey, VERTEX_BASE_URL: cloud.origin });
    expect(said((await ask("vertex/gemini-3.8-flash")).text)).toBe("Gemini on Vertex");
    expect(cloud.asked[0]?.path).toBe("/v1/publishers/google/models/gemini-3.8-flash:generateContent");
  });

  test("says what its fields lack before it is asked", async () => {
    const { send } = await open();
    const fields = { project: "my-project", location: "global", service_account: { type: "authorized_user" } };
    const refused = await send("POST", "/providers/vertex/keys", { fields });
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining("client_email, private_key and token_uri") },
    });
  });

  test("of which a token endpoint in the machine's own network is not asked", async () => {
    const cloud = opened(startVertex({ apiKey: secrets.apiKey }));
    const { send } = await open({ VERTEX_BASE_URL: cloud.origin });
    const account = { ...(JSON.parse(cloud.serviceAccount()) as object), token_uri: "http://169.254.169.254/token" };
    const refused = await send("POST", "/providers/vertex/keys", {
      fields: { project: "my-project", location: "global", service_account: account },
    });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("link-local")]);
  });
});

describe("Azure", () => {
  test("is asked by its key, and Claude on Foundry by the header of that protocol", async () => {
    const cloud = opened(startAzure(azureKeys));
    const { ask } = await open({ AZURE_API_KEY: secrets.apiKey, AZURE_BASE_URL: `${cloud.origin}/openai/v1` });
    const { text } = await ask("azure/gpt-4.1");
    expect([said(text), text]).toEqual(["Deployed", expect.not.stringContaining("filter_results")]);
    const streamed = await ask("azure/gpt-4.1", { stream: true, stream_options: { include_usage: true } });
    expect(streamed.text).toContain("Deployed");
    expect(streamed.text).toContain('"prompt_tokens":9');
    expect(streamed.text).not.toContain("filter_results");
    expect(said((await ask("azure/claude-opus-5")).text)).toBe("Claude on Foundry");
    expect(cloud.asked.map(({ path }) => path)).toEqual([
      "/openai/v1/chat/completions",
      "/openai/v1/chat/completions",
      "/anthropic/v1/messages",
    ]);
  });

  test("is asked by a token of Entra, which is fetched once for calls at the same time", async () => {
    const cloud = opened(startAzure(azureKeys));
    const { ask } = await open({
      AZURE_TENANT_ID: "contoso",
      AZURE_CLIENT_ID: "client-1",
      AZURE_CLIENT_SECRET: secrets.client,
      AZURE_AUTHORITY: cloud.origin,
      AZURE_BASE_URL: `${cloud.origin}/openai/v1`,
    });
    const all = await Promise.all([1, 2, 3].map(() => ask("azure/gpt-4.1")));
    expect(all.map(({ text }) => said(text))).toEqual(["Deployed", "Deployed", "Deployed"]);
    expect(said((await ask("azure/claude-opus-5")).text)).toBe("Claude on Foundry");
    expect(cloud.tokens.count).toBe(1);
  });

  test("whose Entra refuses the application is an error of the operator's, without its words", async () => {
    const cloud = opened(startAzure({ ...azureKeys, clientSecret: "another" }));
    const { ask } = await open({
      AZURE_TENANT_ID: "contoso",
      AZURE_CLIENT_ID: "client-1",
      AZURE_CLIENT_SECRET: secrets.client,
      AZURE_AUTHORITY: cloud.origin,
      AZURE_BASE_URL: `${cloud.origin}/openai/v1`,
    });
    const { status, text } = await ask("azure/gpt-4.1");
    expect([status, text]).toEqual([500, expect.not.stringContaining("AADSTS")]);
    expect(cloud.asked).toEqual([]);
  });

  test("that filters a prompt is told as a refusal of the prompt, and a deployment that is missing as a model", async () => {
    const cloud = opened(startAzure(azureKeys));
    const { ask, node } = await open({ AZURE_API_KEY: secrets.apiKey, AZURE_BASE_URL: `${cloud.origin}/openai/v1` });
    const filtered = await ask("azure/gpt-4.1", { messages: [{ role: "user", content: "something forbidden" }] });
    expect(filtered.status).toBe(400);
    expect(JSON.parse(filtered.text)).toMatchObject({
      error: {
        code: "content_policy_violation",
        message: expect.stringContaining("content filter refused the prompt (violence)"),
      },
    });
    addRows(node, "azure", [{ id: "azure/gpt-4.1", upstreamId: "not-deployed" }]);
    await until(async () => JSON.parse((await ask("azure/gpt-4.1")).text).error?.code === "model_not_found");
  });

  test("lacks its address until a resource or a base URL is given", async () => {
    const { send, find } = await open();
    const without = await send("POST", "/providers/azure/keys", { fields: { api_key: secrets.apiKey } });
    expect(await without.json()).toMatchObject({ error: { message: expect.stringContaining("where azure is") } });
    expect(
      (await send("POST", "/providers/azure/keys", { fields: { api_key: secrets.apiKey, resource: "ours" } })).status,
    ).toBe(200);
    expect(await find("azure")).toMatchObject({ status: "serving" });
  });
});
