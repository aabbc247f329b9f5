import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { type ApiDescription, writeEndpoints } from "../../../scripts/list-endpoints.ts";
import { gatewayShell } from "./gateway-shell.ts";
import { codeBlocks, readPage, readSection, root, tableRows } from "./pages.ts";

const shell = gatewayShell({ env: { REQUESTS_PER_MINUTE: "600", TOKENS_PER_MINUTE: "1000000" } });
const blocksOf = (path: string, heading: string) => codeBlocks(readSection(path, heading), "sh");

test("the first screen of the README is what a start prints", () => {
  const [shown = ""] = codeBlocks(readSection("README.md", "## Run it"), "");
  const labels = (text: string) =>
    [...text.matchAll(/^ {2}([A-Z][a-zA-Z]*(?: [A-Za-z]+)?) {2,}/gm)].map(([, label]) => label);
  expect(labels(shown).length).toBeGreaterThan(7);
  expect(labels(shell.gateway.stdout())).toEqual(labels(shown));
  expect(shell.gateway.stdout()).toContain(`  Models     ${/Models {5}(\d+)/.exec(shown)?.[1]}\n`);
});

test("the curl command of the README answers", async () => {
  const [curl = ""] = blocksOf("README.md", "## Use it");
  expect(JSON.parse(await shell.follow(curl))).toMatchObject({
    object: "chat.completion",
    choices: [{ message: { content: expect.stringContaining("Say hello") } }],
  });
});

test("the TypeScript program of the README prints an answer", async () => {
  const [program = ""] = codeBlocks(readSection("README.md", "## Use it"), "ts");
  // Below the root, so that it finds the package openai.
  const folder = mkdtempSync(join(root, "node_modules/.readme-"));
  try {
    writeFileSync(join(folder, "index.ts"), program.replace("127.0.0.1:3000", new URL(shell.gateway.origin).host));
    const child = Bun.spawn([process.execPath, join(folder, "index.ts")], {
      env: { PATH: process.env.PATH ?? "", MODELGATE_KEY: shell.gateway.key },
      stderr: "pipe",
    });
    const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, complaint]).toEqual([0, ""]);
    expect(said).toContain("Say hello");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the models that the README names exist", async () => {
  const named = [
    ...readSection("README.md", "## Use it").matchAll(/\b(?:gpt|claude|gemini|text-embedding)-[\w.-]+\w/g),
  ];
  expect(named.length).toBeGreaterThan(4);
  for (const [model] of named)
    expect([model, (await shell.gateway.ask(`/models/${model}`)).status]).toEqual([model, 200]);
});

test("the commands on accounts, keys, wallets and audits do what they say, one after the other", async () => {
  const [accounts = ""] = blocksOf("docs/accounts.md", "## Accounts and keys");
  const said = await shell.follow(accounts);
  expect(said).toContain("ada@example.com");
  const [wallets = ""] = blocksOf("docs/billing.md", "## Wallets and vouchers");
  const moved = await shell.follow(wallets);
  expect(moved).toContain("balance 4 USD");
  const [keys = ""] = blocksOf("docs/budgets.md", "## Budgets and limits of a key");
  const [, id = ""] =
    /"id":"([^"]+)"/.exec(await shell.follow("modelgate key list --account ada@example.com --json")) ?? [];
  await shell.follow(keys.replaceAll(" set ID ", ` set ${id} `));
  const [audits = ""] = blocksOf("docs/billing.md", "## Audits");
  expect(await shell.follow(audits)).toContain("model");
});

test("the example of docs/billing.md holds and charges the amounts of its table", async () => {
  const section = readSection("docs/billing.md", "## One call in dollars");
  const amount = (step: string) => new RegExp(`^\\| \\d\\. ${step}.+\\| +\`([\\d.]+)\``, "m").exec(section)?.[1] ?? "";
  const [call = ""] = codeBlocks(section, "sh");
  await shell.follow('modelgate wallet credit --account owner@localhost --usd 1 --note "for the example"');
  const said = await shell.follow(call);
  expect(said).toContain(`x-modelgate-cost-usd: ${amount("charge")}`);
  const [, id] = /x-request-id: (\S+)/.exec(said) ?? [];
  const shown = JSON.parse(await shell.follow(`modelgate request show ${id} --json`));
  expect(shown).toMatchObject({ hold_usd: amount("hold"), charged_usd: amount("charge") });
  const held = BigInt(amount("hold").slice(2).padEnd(9, "0")) - BigInt(amount("charge").slice(2).padEnd(9, "0"));
  expect(BigInt(amount("released").slice(2).padEnd(9, "0"))).toBe(held);
});

test("the calls of docs/billing.md with little money are lowered and refused as it says", async () => {
  const section = readSection("docs/billing.md", "## One call in dollars");
  const [, lowered] = /x-modelgate-lowered: (max_tokens=\d+)/.exec(section) ?? [];
  const [call = ""] = codeBlocks(section, "sh");
  await shell.follow("modelgate account create --email little@example.com");
  const { key } = JSON.parse(await shell.follow("modelgate key create --account little@example.com --name app --json"));
  const ask = () => shell.follow(`export MODELGATE_KEY=${key}\n${call}`);
  await shell.follow('modelgate wallet credit --account little@example.com --usd 0.01 --note "a cent"');
  expect(await ask()).toContain(`x-modelgate-lowered: ${lowered}`);
  await shell.follow('modelgate wallet debit --account little@example.com --usd 0.007 --note "most of it"');
  // A command's change is in force within two seconds.
  await Bun.sleep(2_500);
  const [, needed] = /\((0\.\d+) USD\) fit/.exec(section) ?? [];
  const refused = await ask();
  expect(refused).toContain("insufficient_balance");
  expect(refused).toContain(`the wallet has ${/With (0\.0029\d+) USD/.exec(section)?.[1]} USD`);
  expect(refused).toContain(`needs up to ${needed} USD`);
});

test("the commands of 'Give my team access' make a team with a budget, invitations and a key", async () => {
  const said = await shell.follow(blocksOf("docs/team-access.md", "# Give my team access").join(""));
  expect(said.match(/https?:\/\/\S+/g)?.length).toBe(2);
  expect(said).toContain("sk-mg-");
  expect(await shell.follow("modelgate team list search@example.com")).toContain("ada@example.com");
});

test("the commands of 'Sell access' set a price with a margin, and make one voucher for an order that is sent twice", async () => {
  const [markups = "", price = "", vouchers = "", order = "", transfer = ""] = blocksOf(
    "docs/sell-access.md",
    "# Sell access",
  );
  await shell.follow(markups);
  await shell.follow(price);
  await Bun.sleep(2_500);
  const model = await (await shell.gateway.ask("/models/claude-sonnet-4-6")).json();
  expect([model.price.outputToken.usd, model.price.markupPercent]).toEqual(["18", undefined]);
  await shell.follow("rm ~/.modelgate/catalogue/anthropic.json");
  const { id } = JSON.parse(await shell.follow("modelgate voucher create --usd 1 --json"));
  expect(await shell.follow(vouchers.replace("void ID", `void ${id}`))).toMatch(/^usd +25$/m);
  const { key } = JSON.parse(
    await shell.follow("modelgate admin-key create --name shop --scopes accounts:write --json"),
  );
  const sent = await shell.follow(`ADMIN_KEY=${key}\n${order}\necho\n${order}`);
  const codes = [...sent.matchAll(/"code":"([^"]+)"/g)].map(([, code]) => code);
  expect([codes.length, new Set(codes).size]).toEqual([2, 1]);
  await shell.follow(`${transfer}${transfer}`);
  expect(await shell.follow("modelgate wallet show ada@example.com")).toMatch(/balance 25\d/);
});

test("the commands of the management API do what they say, one after the other", async () => {
  const blocks = blocksOf("docs/management-api.md", "## First steps");
  const said = await shell.follow(blocks.join(""));
  for (const fact of ['"balance_usd":"250"', '"subject":"end_user"', '"object":"chat.completion"', '"object":"page"']) {
    expect(said).toContain(fact);
  }
  expect(said).not.toContain('"error"');
});

test("the commands on one document plan a change, make it, and find nothing more to change", async () => {
  const [block = ""] = blocksOf("docs/management-api.md", "## One document");
  const apply = "modelgate apply change.json\n";
  expect(block).toEndWith(apply);
  const said = await shell.follow(`export MODELGATE_URL=http://127.0.0.1:3000\n${block}echo AGAIN\n${apply}`);
  const [first = "", again] = said.split("AGAIN\n");
  for (const fact of ["Wrote gateway.json", "2 changes, none written", "website: sk-mg-"])
    expect(first).toContain(fact);
  expect(again).toBe("Nothing to change: the gateway matches the document\n");
});

test("the command that rotates a key gives it another secret, and the old one still works", async () => {
  const [block = ""] = blocksOf("docs/management-api.md", "## Rotation");
  const run = async (command: string) => JSON.parse(await shell.follow(`${command} --json`));
  const admin = await run("modelgate admin-key create --name rotation --scopes keys:write");
  const { id: project } = await run("modelgate account create --email rotation@example.com");
  const old = await run("modelgate key create --account rotation@example.com --name app");
  const variables = {
    MODELGATE_URL: shell.gateway.origin,
    MODELGATE_ADMIN_KEY: admin.key,
    PROJECT: project,
    KEY: old.id,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
  const rotated = JSON.parse(await shell.follow(lines.join("") + block));
  expect(rotated.value).not.toBe(old.key);
  expect(rotated.previous_until).toBeNumber();
  for (const key of [old.key, rotated.value]) {
    const response = await shell.gateway.ask("/models", { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
  }
});

test("docs/management-api.md names each part of OpenAI's admin client, as an endpoint or as not served", () => {
  const { organization } = new OpenAI({ apiKey: "none", adminAPIKey: "none" }).admin;
  const partsOf = (resource: object) => Object.keys(resource).filter((name) => !name.startsWith("_"));
  const usages = Object.getOwnPropertyNames(Object.getPrototypeOf(organization.usage));
  const parts = [...partsOf(organization), ...partsOf(organization.projects), ...usages]
    .filter((name) => name !== "constructor")
    .map((name) => name.replace("API", "Api").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  expect(parts).toContain("service_accounts");
  const served = tableRows(readSection("docs/management-api.md", "## Endpoints")).flatMap(([endpoint = ""]) =>
    endpoint.split("/"),
  );
  const others = tableRows(readSection("docs/management-api.md", "## Not served")).flatMap(([names = ""]) =>
    names.split(", "),
  );
  expect([...new Set(parts)].filter((part) => !served.includes(part) && !others.includes(part))).toEqual([]);
  expect(others.filter((part) => served.includes(part) || !parts.includes(part))).toEqual([]);
});

test("the program of the management API lists the projects", async () => {
  const [program = ""] = codeBlocks(readSection("docs/management-api.md", "## First steps"), "ts");
  const { key } = JSON.parse(
    await shell.follow("modelgate admin-key create --name reader --scopes accounts:read --json"),
  );
  const folder = mkdtempSync(join(root, "node_modules/.management-"));
  try {
    writeFileSync(join(folder, "index.ts"), program.replace("127.0.0.1:3000", new URL(shell.gateway.origin).host));
    const child = Bun.spawn([process.execPath, join(folder, "index.ts")], {
      env: { PATH: process.env.PATH ?? "", ADMIN_KEY: key },
      stderr: "pipe",
    });
    const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, complaint]).toEqual([0, ""]);
    expect(said).toMatch(/^acc_\w+ /);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the policy of docs/policies.md is loaded, and masks the address of its example", async () => {
  const section = readSection("docs/policies.md", "## Mask email addresses");
  const [policy = ""] = codeBlocks(section, "ts");
  const [, file = ""] = /^\/\/ ~\/\.modelgate\/(.+)$/m.exec(policy) ?? [];
  mkdirSync(join(shell.gateway.home, "plugins"), { recursive: true });
  writeFileSync(join(shell.gateway.home, file), policy);
  while (!shell.gateway.stderr().includes('"policy_loaded"')) await Bun.sleep(50);
  const [commands = ""] = codeBlocks(section, "sh");
  const [, shown = ""] = /the provider got: `(.+?)`/.exec(section) ?? [];
  const said = await shell.follow(commands);
  expect(said).toContain(shown);
  expect(said).not.toContain("ada@");
  const [rule] = JSON.parse(await shell.follow("modelgate policy list --json"));
  await shell.follow(`modelgate policy remove ${rule.id}\nrm ~/.modelgate/${file}`);
});

test("a catalogue file changes a model while the gateway runs", async () => {
  const [block = ""] = blocksOf("docs/models.md", "# Models and prices");
  expect(JSON.parse(await shell.follow(block))).toMatchObject({ id: "small", premium: true });
  await shell.follow("rm ~/.modelgate/catalogue/openai.json");
});

test("the commands of the catalogue show a model, plan and make a change of it, and take it back", async () => {
  const [show = "", change = ""] = blocksOf("docs/models.md", "## Models and prices by API");
  const said = await shell.follow(show + change);
  for (const fact of ['"base":', '"dry_run":true', '"own":{', '"deleted":true']) expect(said).toContain(fact);
  expect(said).not.toContain('"error"');
});

test("the commands of the catalogue set virtual and unlisted models, and write back what they read", async () => {
  const [show = "", , set = "", document = ""] = blocksOf("docs/models.md", "## Models and prices by API");
  const [admin = ""] = show.split("\napi catalogue/");
  const said = await shell.follow(`${admin}\n${set}${document}`);
  for (const fact of ['"id":"fast"', '"own":true']) expect(said).toContain(fact);
  expect(said).not.toContain('"error"');
  expect(said).toEndWith('"dry_run":false,"changes":[]}');
  await shell.follow("rm ~/.modelgate/catalogue/*.json");
});

test("the headers of an answer are those of docs/api.md", async () => {
  const documented = tableRows(readSection("docs/api.md", "## Response headers")).map(([name]) => name as string);
  const response = await shell.gateway.post(
    "/chat/completions",
    { model: "gpt-4.1-nano", messages: [{ role: "user", content: "Hello" }] },
    { "x-request-id": "mine" },
  );
  expect(response.status).toBe(200);
  const sent = [...response.headers.keys()].filter((name) => name.startsWith("x-"));
  const conditional = [
    "idempotent-replayed",
    "retry-after",
    "x-modelgate-cache-marks",
    "x-modelgate-failed",
    "x-modelgate-ignored",
    "x-modelgate-lowered",
    "x-modelgate-limit",
    "x-modelgate-model",
    "x-modelgate-successor",
    "x-should-retry",
  ];
  const always = documented.filter((name) => !conditional.includes(name));
  expect(sent.toSorted()).toEqual(always.toSorted());
});

test("the endpoints of docs/management-api.md are those of the routes: if not, run bun run endpoints:list", async () => {
  const page = readPage("docs/management-api.md");
  const description = (await (await fetch(`${shell.gateway.origin}/openapi.json`)).json()) as ApiDescription;
  expect(tableRows(readSection("docs/management-api.md", "## Endpoints")).length).toBeGreaterThan(80);
  expect(writeEndpoints(page, description)).toBe(page);
});

test("the endpoints of docs/api.md and docs/management-api.md are those of the API's description", async () => {
  // A row has all methods of its path: GET, POST /path.
  const ofCalls = tableRows(readSection("docs/api.md", "## Endpoints")).map(([endpoint = ""]) =>
    (/^([A-Z, ]+) (\/.+)$/.exec(endpoint) ?? []).slice(1),
  );
  const ofManagement = tableRows(readSection("docs/management-api.md", "## Endpoints")).map(([path, methods]) => [
    methods,
    `/organization${path}`,
  ]);
  const documented = [...ofCalls, ...ofManagement].flatMap(([methods = "", path]) =>
    methods.split(", ").map((method) => `${method} ${path}`),
  );
  const { paths } = (await (await fetch(`${shell.gateway.origin}/openapi.json`)).json()) as { paths: object };
  const described = Object.entries(paths)
    .filter(([path]) => path.startsWith("/v1/") && !path.startsWith("/v1/v1/"))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.slice(3)}`));
  expect(documented.toSorted()).toEqual(described.toSorted());
});

test("docs/benchmarks.md has the marks between which the bench writes its tables", () => {
  const names = ["run", "calls", "subjects", "gaps", "accounts", "alike", "memory", "stored"];
  const marks = (name: string) => new RegExp(`<!-- bench: ${name} -->\n[^]+?\n<!-- bench: end -->`);
  for (const name of names) expect(readPage("docs/benchmarks.md")).toMatch(marks(name));
});
