import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agents, prepareAgents, turnMsMax } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { until } from "../../support/until.ts";

const shared = useAgentsGateway();
let agents: Agents;
let cookie: string;
beforeAll(async () => {
  agents = await prepareAgents();
  cookie = await ownerCookie(shared.gateway);
}, 3 * prepareMsMax);

/** What the page of the dashboard does once its person has approved. */
async function approve(path: string, body: object): Promise<Record<string, unknown>> {
  const { origin } = shared.gateway;
  const read = async (response: Response) => (await response.json()) as Record<string, unknown>;
  const me = await read(await fetch(`${origin}/dashboard/api/me`, { headers: { cookie } }));
  const response = await fetch(`${origin}/dashboard/api/programs${path}`, {
    method: "POST",
    headers: { cookie, origin, "content-type": "application/json" },
    body: JSON.stringify({ ...body, account: me.account }),
  });
  expect(response.status).toBe(200);
  return await read(response);
}

const keyNames = async () => (await shared.gateway.cli<{ name: string }[]>("key", "list")).map(({ name }) => name);

/** Runs Codex once; when it asks for its person's browser, the person approves there. */
async function runCodex(home: string, question: string) {
  const child = Bun.spawn(
    [
      join(codexFolder(), "codex"),
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      question,
    ],
    {
      cwd: join(home, "work"),
      // No browser is started: Codex prints the address too.
      env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: join(home, "tmp"), BROWSER: "true" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: turnMsMax,
    },
  );
  let said = "";
  const asked: URL[] = [];
  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const piece of stream) {
      said += decoder.decode(piece, { stream: true });
      const [address] = /http:\/\/\S+\/authorize\?\S+/.exec(said) ?? [];
      if (address === undefined || asked.length > 0 || !/\s$/.test(said)) continue;
      const url = new URL(address);
      asked.push(url);
      const read = (name: string) => url.searchParams.get(name) ?? "";
      const { code } = await approve("/authorize/approve", {
        client_id: read("client_id"),
        redirect_uri: read("redirect_uri"),
        code_challenge: read("code_challenge"),
      });
      const back = new URL(read("redirect_uri"));
      back.search = String(new URLSearchParams({ code: String(code), state: read("state") }));
      await (await fetch(back)).text();
    }
  };
  await Promise.all([listen(child.stdout), listen(child.stderr)]);
  return { code: await child.exited, said, asked };
}

const codexFolder = () => agents.path.split(":")[1] as string;

describe("Codex with gateway_oauth", () => {
  test(
    "signs in by its browser without a key, keeps its token for the next run, and is refused once its key is revoked",
    async () => {
      if (agents.missing !== undefined) return;
      const home = mkdtempSync(join(tmpdir(), "modelgate-codex-"));
      try {
        for (const name of ["work", "tmp", ".codex"]) mkdirSync(join(home, name));
        const { origin } = shared.recorder;
        const gate = shared.gateway.origin;
        const block = /```toml\n(model = (?:(?!```)[\s\S])*?gateway_oauth[\s\S]*?)```/.exec(
          readFileSync(join(import.meta.dir, "../../../docs/agents.md"), "utf8"),
        )?.[1];
        expect(block).toBeDefined();
        const config = (block as string)
          .replaceAll(/http:\/\/127\.0\.0\.1:3000\/(v1|oauth)/g, `${origin}/$1`)
          .replaceAll("http://127.0.0.1:3000", gate)
          .replace(/^model = .*$/m, 'model = "gpt-5.4"');
        await Bun.write(join(home, ".codex/config.toml"), config);
        const first = await runCodex(home, "Say hello");
        expect([first.code, first.code === 0 ? "" : first.said]).toEqual([0, ""]);
        expect(first.asked.length).toBe(1);
        expect(await keyNames()).toContain("Codex of owner@localhost");
        const tokens = shared.recorder.calls.filter(({ path }) => path.startsWith("/oauth/token"));
        expect(tokens.map(({ status }) => status)).toEqual([200]);
        shared.recorder.calls.length = 0;
        const second = await runCodex(home, "Say hello again");
        expect([second.code, second.asked.length]).toEqual([0, 0]);
        const turns = shared.recorder.calls.filter(({ path }) => path.includes("/responses"));
        expect(turns.length).toBeGreaterThan(0);
        const keys = await shared.gateway.cli<{ id: string; name: string }[]>("key", "list");
        const { id = "" } = keys.find(({ name }) => name === "Codex of owner@localhost") ?? {};
        await shared.gateway.cli("key", "revoke", id);
        // The command is another process, and the gateway learns of it within a second.
        await Bun.sleep(1000);
        const third = await runCodex(home, "And once more");
        expect(third.code).not.toBe(0);
        expect(third.said).toContain("401");
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
    3 * turnMsMax,
  );
});

describe("Claude Code that a person has signed in", () => {
  /** The device grant, whose steps in the terminal need one. */
  async function signIn(): Promise<string> {
    const { origin } = shared.gateway;
    const post = async (path: string, form: Record<string, string>) =>
      (await (await fetch(origin + path, { method: "POST", body: new URLSearchParams(form) })).json()) as Record<
        string,
        string
      >;
    const device = await post("/oauth/device_authorization", { surface: "claude_code" });
    await approve("/device/approve", { user_code: device.user_code });
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    return (await post("/oauth/token", { grant_type, device_code: String(device.device_code) })).access_token as string;
  }

  test(
    "ends at a spent budget after one request, and shows our words",
    async () => {
      if (agents.missing !== undefined) return;
      const { gateway, recorder } = shared;
      const key = await signIn();
      const run = async () => {
        recorder.calls.length = 0;
        const env = { CLAUDE_CODE_USE_GATEWAY: "1" };
        const options = { origin: recorder.origin, key, model: "claude-sonnet-4-6", env };
        const { code, stdout, stderr } = await agents.run("claude", "Say hello to Ada", options);
        const statuses = recorder.calls.flatMap(({ path, status }) => (path.includes("/messages") ? [status] : []));
        return { code, said: stdout + stderr, statuses };
      };
      const budget = (usd: string) =>
        gateway.cli<{ id: string }>(
          "budget",
          "create",
          "--account",
          ownerEmail,
          "--subject",
          "account",
          "--budget-period",
          "month",
          "--budget-usd",
          usd,
        );
      const { id } = await budget("50");
      expect(await run()).toMatchObject({ code: 0, statuses: [200] });
      await gateway.cli("budget", "change", id, "--budget-usd", "0.000001");
      // Another process changed it, which the gateway sees within half a second: Claude Code may ask before.
      const question = { model: "claude-sonnet-4-6", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
      await until(async () => (await gateway.post("/messages", question)).status !== 200);
      const refused = await run();
      expect(refused).toMatchObject({ code: 1, statuses: [429] });
      expect(refused.said).toContain("Monthly budget of this account reached: 0.000001 USD");
      await gateway.cli("budget", "remove", id);
    },
    3 * turnMsMax,
  );
});
