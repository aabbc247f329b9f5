import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startAzure, startBedrock, startVertex } from "../support/clouds.ts";
import { fillWallet } from "../support/gateway.ts";
import { until } from "../support/until.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount, seeTexts } from "./seen.ts";

const apiKey = "a-key-of-the-cloud-0123456789";
const aws = { id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const azureKeys = { apiKey, tenant: "contoso", clientId: "client-1", clientSecret: "entra~client.secret-0123456789" };

describe.skipIf(!hasChromium)("a new operator", () => {
  const azure = startAzure(azureKeys);
  const bedrock = startBedrock({ secret: aws.secret, apiKey, region: "eu-central-1" });
  const vertex = startVertex({ apiKey });
  afterAll(() => {
    for (const cloud of [azure, bedrock, vertex]) cloud.close();
  });
  const dashboard = useDashboard({
    SANDBOX: "off",
    GROQ_API_KEY: "gsk_only-so-that-it-starts",
    // As for private endpoints; the clouds check signatures and tokens as the real ones do.
    AZURE_BASE_URL: `${azure.origin}/openai/v1`,
    BEDROCK_BASE_URL: bedrock.origin,
    VERTEX_BASE_URL: vertex.origin,
  });
  const clouds = [
    {
      name: "azure",
      fields: {
        "Tenant ID": azureKeys.tenant,
        "Client ID": azureKeys.clientId,
        "Client secret": azureKeys.clientSecret,
        Authority: azure.origin,
      },
      method: "Entra ID application",
      model: "azure/gpt-5.6",
      says: "Deployed",
    },
    {
      name: "bedrock",
      fields: { Region: "eu-central-1", "Access key ID": aws.id, "Secret access key": aws.secret },
      method: "Access key of a user",
      model: "bedrock/amazon.nova-pro-v1:0",
      says: "Signed and sealed",
    },
    {
      name: "vertex",
      fields: {
        Project: "my-project",
        Location: "global",
        "Key of the service account (JSON)": vertex.serviceAccount(),
      },
      method: "Service account",
      model: "vertex/gemini-3.8-flash",
      says: "Gemini on Vertex",
    },
  ];

  const ask = async (model: string) => {
    const body = { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 50 };
    const response = await dashboard.gateway.post("/chat/completions", body);
    const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] };
    return choices?.[0]?.message.content;
  };

  test("adds Azure, Bedrock and Vertex in the dashboard, each by one of its ways to sign in", () =>
    dashboard.visit(async (page) => {
      await fillWallet(dashboard.gateway);
      await signInFirst(page, dashboard.gateway);
      await goTo(page, "Providers");
      await seeHeading(page, "Providers");
      for (const { name, method, fields, model, says } of clouds) {
        expect(await ask(model)).toBeUndefined();
        await page.getByRole("button", { name: "Add provider" }).click();
        await page.getByLabel("Provider", { exact: true }).selectOption(name);
        await page.getByLabel("Sign in with").selectOption({ label: method });
        for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
        if (name === "azure") expect(await findViolations(page)).toEqual([]);
        await page.getByRole("dialog").getByRole("button", { name: "Add provider" }).click();
        await page.getByText(new RegExp(`${name} works: `)).waitFor();
        expect(await ask(model)).toBe(says);
      }
      // The test of what is to be saved has a token, and the calls have one.
      expect([azure, vertex].map(({ tokens }) => tokens.count)).toEqual([2, 2]);

      // The way to sign in is chosen, and its fields alone are asked for.
      await page.getByRole("button", { name: "Add provider" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Provider", { exact: true }).selectOption("bedrock-mantle");
      await seeTexts(dialog.locator("label"), ["Provider", "Region", "Bedrock API key"]);
      await page.keyboard.press("Escape");
      await page.getByRole("link", { name: "bedrock", exact: true }).click();
      await page.getByRole("button", { name: "API keys" }).click();
      await seeTexts(page.getByRole("cell").filter({ hasText: "…EKEY" }).locator(".sub").first(), [
        `Access key of a user · eu-central-1 · ${aws.id}`,
      ]);
      const part = page.locator("form");
      await seeTexts(part.locator("label"), ["Sign in with", "Region", "Bedrock API key"]);
      await part.getByLabel("Sign in with").selectOption("machine_role");
      await seeTexts(part.locator("label"), ["Sign in with", "Region", "The gateway runs in"]);
      await seeTexts(part.getByLabel("The gateway runs in").locator("option"), [
        "A container of ECS or EKS",
        "An instance of EC2",
      ]);
      await part.getByLabel("Sign in with").selectOption("access_key");
      await part.getByLabel("Region").fill("eu-central-1");
      await part.getByLabel("Access key ID").fill(aws.id);
      await seeCount(part.getByRole("button", { name: "Add credential", disabled: true }), 1);
    }));

  test("then adds a deployment of each by one file", async () => {
    const folder = join(dashboard.gateway.home, "catalogue");
    mkdirSync(folder, { recursive: true });
    const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "5", per: 1_000_000 } };
    const row = { upstreamId: "our-deployment", capability: "chat", premium: true, ownedBy: "us", created: 0, price };
    for (const { name } of clouds) {
      const models = [{ id: `our-${name}`, contextTokens: 100_000, ...row }];
      writeFileSync(join(folder, `${name}.json`), JSON.stringify({ models }));
    }
    for (const { name, says } of clouds) await until(async () => (await ask(`our-${name}`)) === says);
    const paths = [azure, bedrock, vertex].map(({ asked }) => asked.at(-1));
    expect(paths.map((request) => `${request?.path} ${request?.body.model ?? ""}`)).toEqual([
      "/openai/v1/chat/completions our-deployment",
      "/model/our-deployment/converse ",
      "/v1/projects/my-project/locations/global/publishers/google/models/our-deployment:generateContent ",
    ]);
  });
});
