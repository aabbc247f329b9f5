import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { preparePython } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

/** What schemathesis writes of a run, as far as it is read here. */
interface Report {
  test_cases: { generated: number };
  operations: { selected: number; tested: number };
  failures: unknown[];
  errors: { title: string }[];
  warnings: { missing_auth: unknown[] };
}

const installMsMax = 180_000;
const isLong = process.env.LONG === "1";
/** The short form asks one of the two mounts for fifteen seconds, the long form both for ten minutes. */
const bounds = isLong
  ? { seconds: 600, examples: 400, paths: "^/" }
  : { seconds: 15, examples: 15, paths: "^/(api/v1|healthz|readyz)" };
/** What makes a run one. On a busy machine the time is over before all was asked that is to be, and there is more of it. */
const requestsMin = 30;
const isWhole = ({ test_cases, warnings }: Report) =>
  test_cases.generated > requestsMin && warnings.missing_auth.length === 0;
const secondsMax = 4 * bounds.seconds;
const runMsMax = (secondsMax + 90) * 1000;
/** Whether a model, a voice or a picture's address is right is more than a schema says: such a 400 is no fault. */
const withoutChecks = "positive_data_acceptance";

describe("the API as it describes itself", () => {
  const shared = useSandboxGateway();
  const folder = mkdtempSync(join(tmpdir(), "modelgate-openapi-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let report: Report | undefined;
  let said = "";

  beforeAll(
    async () => {
      const python = await preparePython("schemathesis", "schemathesis==4.32.5");
      if (python.missing !== undefined) return console.log(`Skipped: schemathesis: ${python.missing}`);
      const session = (await ownerCookie(shared.gateway)).slice("session=".length);
      const key = `{ bearer = "${shared.gateway.key}" }`;
      const credentials = `[auth.openapi]\nkey = ${key}\nsession = { api_key = "${session}" }\n`;
      writeFileSync(join(folder, "schemathesis.toml"), credentials);
      const program = join(python.command, "../schemathesis");
      report = await run(program, bounds.seconds);
      if (!isWhole(report)) report = await run(program, secondsMax);
      const { generated } = report.test_cases;
      console.log(`schemathesis made ${generated} requests to ${report.operations.tested} operations`);
    },
    installMsMax + 2 * runMsMax,
  );

  async function run(program: string, seconds: number): Promise<Report> {
    const file = join(folder, "report.json");
    const command = [
      program,
      ...["run", `${shared.gateway.origin}/openapi.json`, "--include-path-regex", bounds.paths],
      ...["--checks", "all", "--exclude-checks", withoutChecks, "--phases", "examples,coverage,fuzzing"],
      ...["--max-examples", String(bounds.examples), "--max-time", String(seconds), "--workers", "2"],
      ...["--continue-on-failure", "--seed", "7", "--report", "json", "--report-json-path", file],
      ...(isLong ? [] : ["--no-shrink"]),
    ];
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      SCHEMATHESIS_HOOKS: "hooks",
      PYTHONPATH: import.meta.dir,
    };
    const cwd = { cwd: folder, env: { ...env, PYTHONDONTWRITEBYTECODE: "1" }, timeout: runMsMax };
    const child = Bun.spawn(command, { ...cwd, stdout: "pipe", stderr: "pipe" });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    await child.exited;
    said = text + complaint;
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  }

  test("answers whatever is asked by its description, and never with a fault of its own", () => {
    if (report === undefined) return;
    expect(report.failures.length === 0 ? "" : said.slice(-8000)).toBe("");
    // Faults of the tool itself, which is at a loss for some example, are no fault of what it asks.
    expect(report.errors.filter(({ title }) => title !== "Runtime Error")).toEqual([]);
    expect(report.warnings.missing_auth).toEqual([]);
    expect(report.test_cases.generated).toBeGreaterThan(requestsMin);
    expect(report.operations.tested).toBe(report.operations.selected);
    expect(report.operations.selected).toBeGreaterThan(12);
  });

  test("leaves nothing open in the books", async () => {
    if (report === undefined) return;
    expect(shared.books.counts()).toMatchObject({ open: 0 });
    expect(shared.books.counts().calls).toBeGreaterThan(5);
    expect((await shared.gateway.run("ledger", "verify")).code).toBe(0);
  });
});
