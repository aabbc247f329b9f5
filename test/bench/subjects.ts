import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificates } from "../support/certificates.ts";
import type { Question } from "./exchange.ts";
import { type Protocol, pathOf } from "./job.ts";
import type { Place } from "./peers/contender.ts";
import { coreOf, type Processes, type Server } from "./processes.ts";

export const gateRoot = join(import.meta.dir, "../..");
const key = "sk-mg-bench0001-0123456789abcdef0123456789abcdef";

/** What is measured: a proxy in front of the loopback upstream. */
export interface Subject extends Server {
  name: string;
  url: string;
  key: string;
  /** Asked with by turns, in place of the one key. */
  keys?: Question["keys"];
  /** What it does not have. */
  lacks?: readonly Protocol[];
  /** What it is asked with beside the usual. */
  asking?(protocol: Protocol): Pick<Question, "headers" | "model">;
  /** Takes a millisecond and more for a call, and is measured in one round. */
  isSlow?: boolean;
}

/** The loopback provider, and the certificate to trust where it speaks TLS. */
export interface Upstream extends Server {
  caFile?: string;
}

export async function startUpstream(processes: Processes, withTls = false): Promise<Upstream> {
  const command = [process.execPath, join(import.meta.dir, "upstream.ts")];
  if (!withTls) return processes.serve({ command, core: coreOf.upstream });
  const certificates = makeCertificates();
  if (certificates === undefined) throw new Error("openssl is not installed here; --plain measures without TLS");
  const [keyFile, certFile, caFile] = (["key", "cert", "ca"] as const).map((name) => {
    const file = join(processes.folder, `${name}.pem`);
    writeFileSync(file, certificates[name]);
    return file;
  }) as [string, string, string];
  const { pid, origin } = await processes.serve({ command: [...command, keyFile, certFile], core: coreOf.upstream });
  return { pid, origin: origin.replace("http:", "https:"), caFile };
}

export const trusting = ({ caFile }: Pick<Place, "caFile">): Record<string, string> =>
  caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile };

/** Bun sends 256 requests at once, unless it is told at its start. */
export const bareEnv = (place: Pick<Place, "caFile">) => ({
  ...trusting(place),
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65535",
});

export async function startBare(processes: Processes, upstream: Upstream): Promise<Subject> {
  const command = [process.execPath, join(import.meta.dir, "bare.ts"), upstream.origin];
  const server = await processes.serve({ command, core: coreOf.subject, env: bareEnv(upstream) });
  return { ...server, name: "bare", url: server.origin + pathOf.chat, key };
}

/** The barest proxy that has a ledger. */
export async function startFloor(processes: Processes, upstream: Upstream): Promise<Subject> {
  const file = join(processes.folder, "floor.db");
  const command = [process.execPath, join(import.meta.dir, "floor.ts"), upstream.origin, "0", file];
  const server = await processes.serve({ command, core: coreOf.subject, env: bareEnv(upstream) });
  return { ...server, name: "bare with two synced writes", url: server.origin + pathOf.chat, key };
}

export interface GateOptions {
  logLevel?: string;
  /** Options of Bun. */
  flags?: readonly string[];
  /** Where it keeps its ledger, when not in its home. */
  ledger?: { DATABASE_URL: string; REDIS_URL: string };
  /** Other settings. */
  env?: Record<string, string>;
  /** Home folder, below the bench's own; the same name finds what an earlier start left there. */
  home: string;
}

/** Starts the gateway as an operator would, with limits so wide that they are counted and never reached. */
export async function startGate(processes: Processes, upstream: Upstream, options: GateOptions): Promise<Subject> {
  const program = [process.execPath, ...(options.flags ?? []), join(gateRoot, "src/main.ts")];
  const logLevel = options.logLevel ?? "silent";
  const server = await processes.serve({
    command: [...program, "serve"],
    core: coreOf.subject,
    env: {
      ...gateEnv({ home: join(processes.folder, options.home), port: 0, provider: upstream.origin, key, logLevel }),
      ...trusting(upstream),
      ...options.ledger,
      ...options.env,
    },
  });
  const name = logLevel === "silent" ? "modelgate" : `modelgate, log ${logLevel}`;
  return { ...server, name, url: server.origin + pathOf.chat, key };
}

/** The environment of a gateway whose limits are counted and never reached. All its models are free. */
export function gateEnv(place: {
  home: string;
  port: number;
  provider: string;
  key: string;
  logLevel?: string;
}): Record<string, string> {
  mkdirSync(join(place.home, "catalogue"), { recursive: true });
  const free = [{ id: "famC-haiku-4-5", premium: false }];
  writeFileSync(join(place.home, "catalogue/anthropic.json"), JSON.stringify(free));
  return {
    MODELGATE_HOME: place.home,
    MODELGATE_BOOTSTRAP_KEY: place.key,
    PORT: String(place.port),
    OPENAI_API_KEY: "sk-upstream",
    OPENAI_BASE_URL: `${place.provider}/v1`,
    ANTHROPIC_API_KEY: "sk-upstream",
    ANTHROPIC_BASE_URL: `${place.provider}/v1`,
    FREE_TOKENS_PER_DAY: "1000000000000000",
    REQUESTS_PER_MINUTE: "1000000000",
    TOKENS_PER_MINUTE: "1000000000000",
    LOG_LEVEL: place.logLevel ?? "silent",
  };
}
