import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isLong } from "../../support/long.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

/** Some 700 MB of programs, which is why this is for the long form alone. */
const packages = ["@openai/codex@0.169.0", "@anthropic-ai/claude-code@2.1.330"];
const installMsMax = 300_000;
const turnMsMax = 90_000;

describe("coding agents", () => {
  const shared = useSandboxGateway();
  const folder = mkdtempSync(join(tmpdir(), "modelgate-agents-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let missing: string | undefined = "this is for LONG=1";

  beforeAll(async () => {
    if (isLong) missing = await install();
    if (missing !== undefined) console.log(`Skipped: Codex and Claude Code: ${missing}`);
  }, installMsMax);

  async function install(): Promise<string | undefined> {
    const command = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", ...packages];
    const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe", timeout: installMsMax });
    const [complaint, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    return code === 0 ? undefined : `npm ended with ${code}: ${complaint.slice(-300)}`;
  }

  /** Runs an agent in an empty folder and home, and says what it printed. */
  async function run(command: string[], env: Record<string, string>): Promise<string> {
    const home = join(folder, crypto.randomUUID());
    mkdirSync(home);
    if (env.CODEX_CONFIG !== undefined) await Bun.write(join(home, ".codex/config.toml"), env.CODEX_CONFIG);
    const child = Bun.spawn(command, {
      cwd: home,
      env: { PATH: process.env.PATH ?? "", HOME: home, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: turnMsMax,
    });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(`${await child.exited} ${text}${complaint}`).toStartWith("0 ");
    return text;
  }

  test(
    "Codex does a turn in text",
    async () => {
      if (missing !== undefined) return;
      const provider = `base_url = "${shared.gateway.origin}/v1"\nenv_key = "MODELGATE_KEY"\nwire_api = "responses"`;
      const config = `model = "gpt-4.1"\nmodel_provider = "modelgate"\n[model_providers.modelgate]\nname = "modelgate"\n`;
      const codex = join(folder, "node_modules/.bin/codex");
      const said = await run([codex, "exec", "--skip-git-repo-check", "-s", "read-only", "Say hello to Ada"], {
        MODELGATE_KEY: shared.gateway.key,
        CODEX_CONFIG: config + provider,
      });
      expect(said).not.toBe("");
      expect(shared.books.counts()).toMatchObject({ open: 0, calls: 1 });
    },
    turnMsMax,
  );

  test(
    "Claude Code does a turn in text",
    async () => {
      if (missing !== undefined) return;
      const claude = join(folder, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
      const before = shared.books.counts().calls;
      const said = await run([claude, "-p", "Say hello to Ada"], {
        ANTHROPIC_BASE_URL: shared.gateway.origin,
        ANTHROPIC_AUTH_TOKEN: shared.gateway.key,
        ANTHROPIC_MODEL: "claude-sonnet-4-6",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
      });
      expect(said).not.toBe("");
      expect(shared.books.counts().calls).toBeGreaterThan(before);
      expect(shared.books.counts().open).toBe(0);
    },
    turnMsMax,
  );
});
