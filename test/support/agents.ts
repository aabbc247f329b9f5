import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runOptimization } from "./late-optimization.ts";
import { prepareNpmPackages } from "./npm-packages.ts";

export type AgentName = "codex" | "claude";

/** How one run of an agent ended. */
export interface AgentRun {
  code: number;
  stdout: string;
  stderr: string;
  /** The folder it worked in. */
  folder: string;
}

export interface AgentOptions {
  origin: string;
  /** An API key, or a shell command that prints a token each time the agent needs one. */
  key: string | { readonly command: string };
  model: string;
  /** Further settings of Codex' provider, as lines of its configuration. */
  codexProvider?: string;
  /** Further variables of its environment. */
  env?: Readonly<Record<string, string>>;
  /** Ends the agent before it does so itself. */
  signal?: AbortSignal;
}

/** Codex and Claude Code from npm. */
export interface Agents {
  /** Why they cannot run here. */
  missing?: string | undefined;
  /** Folders of the commands `codex` and `claude`. */
  path: string;
  /** Gives an agent one question in an empty folder and home. */
  run(agent: AgentName, question: string, options: AgentOptions): Promise<AgentRun>;
}

export const turnMsMax = 120_000;

const codexConfig = ({ origin, model, key, codexProvider = "" }: AgentOptions) => `model = "${model}"
model_provider = "modelgate"
model_reasoning_effort = "medium"
[model_providers.modelgate]
name = "modelgate"
base_url = "${origin}/v1"
wire_api = "responses"
${codexProvider}
${
  typeof key === "string"
    ? 'env_key = "MODELGATE_KEY"'
    : `[model_providers.modelgate.auth]\ncommand = "sh"\nargs = ["-c", ${JSON.stringify(key.command)}]\nrefresh_interval_ms = 60000`
}
`;

/** The program that the command of the package becomes: to find it, that starts Node for each run. */
function codexIn(modules: string): string {
  const folder = join(modules, `@openai/codex-${process.platform}-${process.arch}/vendor`);
  const [program] = existsSync(folder) ? new Bun.Glob("*/bin/codex").scanSync(folder) : [];
  return program === undefined ? join(modules, ".bin/codex") : join(folder, program);
}

/** Installs the agents at pinned versions, some 750 MB, once for all runs of this clone. */
export async function prepareAgents(): Promise<Agents> {
  const { folder, missing } = await prepareNpmPackages(
    "agents",
    "@openai/codex@0.171.0",
    "@anthropic-ai/claude-code@2.1.330",
  );
  if (missing !== undefined) console.log(`Skipped: Codex and Claude Code: ${missing}`);
  const modules = join(folder ?? "", "node_modules");
  const codex = codexIn(modules);
  const claude = join(modules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
  return {
    missing,
    path: `${dirname(claude)}:${join(modules, ".bin")}:${process.env.PATH}`,
    async run(agent, question, options) {
      const { origin, key, model, env: further = {}, signal } = options;
      const home = mkdtempSync(join(tmpdir(), "modelgate-agent-"));
      const cwd = join(home, "work");
      // Codex keeps its helpers out of the folder for temporary files.
      for (const folder of [cwd, join(home, "tmp")]) mkdirSync(folder);
      await Bun.write(join(home, ".codex/config.toml"), codexConfig(options));
      if (typeof key !== "string") {
        await Bun.write(join(home, ".claude/settings.json"), JSON.stringify({ apiKeyHelper: key.command }));
      }
      const commands: Record<AgentName, { command: string[]; env: Record<string, string> }> = {
        codex: {
          command: [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", question],
          env: typeof key === "string" ? { MODELGATE_KEY: key } : {},
        },
        claude: {
          command: [claude, "-p", question, "--allowedTools", "Bash,Write,Edit,Read,WebSearch"],
          // It is a program of Bun's too.
          env: {
            ...runOptimization,
            ANTHROPIC_BASE_URL: origin,
            ...(typeof key === "string" && { ANTHROPIC_AUTH_TOKEN: key }),
            ANTHROPIC_MODEL: model,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
            DISABLE_AUTOUPDATER: "1",
          },
        },
      };
      const { command, env } = commands[agent];
      const child = Bun.spawn(command, {
        cwd,
        env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: join(home, "tmp"), ...env, ...further },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: turnMsMax,
        ...(signal !== undefined && { signal }),
      });
      const texts = [new Response(child.stdout).text(), new Response(child.stderr).text()];
      const [stdout = "", stderr = ""] = await Promise.all(texts);
      return { code: await child.exited, stdout, stderr, folder: cwd };
    },
  };
}
