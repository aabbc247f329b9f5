import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { preparePython } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { prepareOrganization, prepareSession } from "./organization.ts";

/** What schemathesis writes of a run, as far as it is read here. */
interface Report {
  test_cases: { generated: number };
  operations: { selected: number; tested: number };
  failures: unknown[];
  errors: { title: string }[];
  /** What it could not try in earnest, by reason: operations that let it in never, or found nothing. */
  warnings: Record<string, unknown[]>;
}

/** With those that decide what it asks. */
const packages = ["schemathesis==4.32.5", "hypothesis==6.170.15", "jsonschema_rs==0.60.3"];
const installMsMax = 180_000;
const isLong = process.env.LONG === "1";
/**
 * The short form asks the API of models at one of its two mounts some thousand things, the same ones at any speed of the
 * machine: what is cut off by time has tried some operations only without their key. The long form asks them more, and
 * the management API too, whose operations are so many that a few examples of each are a thousand.
 */
const runs = {
  models: [
    ...["--include-path-regex", "^/(api/v1/(?!organization)|healthz|readyz)", "--phases", "examples,coverage,fuzzing"],
    ...["--max-examples", isLong ? "100" : "5", "--no-shrink"],
  ],
  ...(isLong && {
    management: [
      ...["--include-path-regex", "^/v1/organization/", "--phases", "examples,fuzzing"],
      ...["--max-examples", "10", "--no-shrink"],
    ],
  }),
};
/**
 * All limits of a body are tried by the short form where nothing else is: two operations take the bodies of others, and those of
 * three are 3,000 limits, in whose place some are drawn.
 */
const withoutCoverage = {
  "/api/v1/responses/input_tokens": 5,
  "/api/v1/messages/count_tokens": 5,
  "/api/v1/responses": 24,
  "/api/v1/decisions": 6,
  "/api/v1/images/edits": 20,
};
const shortForm = Object.entries(withoutCoverage)
  .map(
    ([path, examples]) =>
      `[[operations]]\ninclude-path = "${path}"\nphases.coverage.enabled = false\ngeneration.max-examples = ${examples}\n`,
  )
  .join("");
/** Many times of what it takes: only a hang ends there. */
const runMsMax = 900_000;
const requestsMin = 800;
/** Whether a model, a voice or a picture's address is right is more than a schema says: such a 400 is not a fault. */
const withoutChecks = "positive_data_acceptance";

describe("the API as it describes itself", () => {
  // It stays when a provider is added.
  const shared = useSandboxGateway({ SANDBOX: "on" });
  const folder = mkdtempSync(join(tmpdir(), "modelgate-openapi-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const reports: Report[] = [];
  let said = "";
  let organization: Record<string, string> = {};

  beforeAll(async () => {
    const python = await preparePython("schemathesis", ...packages);
    if (python.missing !== undefined) return console.log(`Skipped: schemathesis: ${python.missing}`);
    const session = (await ownerCookie(shared.gateway)).slice("session=".length);
    const key = `{ bearer = "${shared.gateway.key}" }`;
    const { key: adminKey } = await shared.gateway.cli<{ key: string }>(
      ...["admin-key", "create", "--name", "test", "--scopes", "all"],
    );
    const managed = `{ bearer = "${adminKey}" }`;
    organization = await prepareOrganization(shared.gateway.origin, adminKey);
    organization.session = await prepareSession(shared.gateway.origin, adminKey, organization.project_id as string);
    const credentials = `[auth.openapi]\nkey = ${key}\nadmin = ${managed}\nsession = { api_key = "${session}" }\n`;
    writeFileSync(join(folder, "schemathesis.toml"), credentials + (isLong ? "" : shortForm));
    const program = join(python.command, "../schemathesis");
    // By its Python, because a program of a folder that was moved names one that is not there.
    for (const [name, bounds] of Object.entries(runs)) {
      const report = await run([python.command, program], bounds);
      reports.push(report);
      const { test_cases: cases, operations } = report;
      console.log(`schemathesis made ${cases.generated} requests to ${operations.tested} operations (${name})`);
    }
  }, installMsMax + runMsMax);

  async function run(program: readonly string[], bounds: readonly string[]): Promise<Report> {
    const file = join(folder, "report.json");
    const command = [
      ...program,
      "run",
      `${shared.gateway.origin}/openapi.json`,
      ...bounds,
      // No provider in the sandbox compacts a conversation: all are 400.
      "--exclude-path-regex",
      "/responses/compact$",
      "--checks",
      "all",
      "--exclude-checks",
      withoutChecks,
      "--continue-on-failure",
      // One at a time: two are no quicker, do not ask the same each time, and make the tool lose its own way.
      "--workers",
      "1",
      "--seed",
      "7",
      "--report",
      "json",
      "--report-json-path",
      file,
    ];
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      SCHEMATHESIS_HOOKS: "hooks",
      PICTURE_URL: await pictureUrl(),
      RESPONSE_ID: await responseId(),
      REQUEST_ID: await requestId(),
      ORGANIZATION_IDS: JSON.stringify(organization),
      PYTHONPATH: import.meta.dir,
    };
    const cwd = { cwd: folder, env: { ...env, PYTHONDONTWRITEBYTECODE: "1" }, timeout: runMsMax };
    const child = Bun.spawn(command, { ...cwd, stdout: "pipe", stderr: "pipe" });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    await child.exited;
    said += text + complaint;
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  }

  /** The address of a picture that is kept, which is its own permission. */
  async function pictureUrl(): Promise<string> {
    const order = { model: "famB-3-pro-image-preview", prompt: "a cat", response_format: "url" };
    const { data } = await (await shared.gateway.post("/images/generations", order)).json();
    return data[0].url;
  }

  /** A stored response. */
  async function responseId(): Promise<string> {
    const answer = await shared.gateway.post("/responses", { model: "famA-4o-mini", input: "Hi" });
    return ((await answer.json()) as { id: string }).id;
  }

  async function requestId(): Promise<string> {
    const body = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hi" }] };
    // Its key has a session too, of the name that the project's has.
    const answer = await shared.gateway.post("/chat/completions", body, { "session-id": "a-session" });
    return answer.headers.get("x-request-id") as string;
  }

  test("answers whatever is asked by its description, and never with a fault of its own", () => {
    if (reports.length === 0) return;
    expect(reports.every(({ failures }) => failures.length === 0) ? "" : said.slice(-8000)).toBe("");
    // Faults of the tool itself, which is at a loss for some example, are not a fault of what it asks.
    const errors = reports.flatMap(({ errors }) => errors).filter(({ title }) => title !== "Runtime Error");
    expect(errors).toEqual([]);
    // A person is added to a project, and removed from it, once; a provider, its key and a file of the catalogue are deleted once; nothing is wrong that could be muted, and no call runs that could be ended.
    const once =
      /\/projects\/\{project_id\}\/users|DELETE [^"]*\/(?:providers|catalogue)\/|\/alerts\/\{alert_id\}|\/live_calls\//;
    const isOnce = (operation: unknown) => once.test(JSON.stringify(operation));
    const warnings = reports.flatMap((report) => Object.values(report.warnings).flat());
    expect(warnings.filter((operation) => !isOnce(operation))).toEqual([]);
    for (const { test_cases: cases, operations } of reports) {
      expect(cases.generated).toBeGreaterThan(requestsMin);
      expect(operations.tested).toBe(operations.selected);
      expect(operations.selected).toBeGreaterThan(12);
    }
  });

  test("leaves nothing open in the ledger", async () => {
    if (reports.length === 0) return;
    expect(shared.ledger.counts()).toMatchObject({ open: 0 });
    expect(shared.ledger.counts().calls).toBeGreaterThan(5);
    expect((await shared.gateway.run("ledger", "verify")).code).toBe(0);
  });
});
