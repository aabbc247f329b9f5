import { getPublicOrigin } from "../../config/index.ts";
import { defineCommand, UsageError } from "../command.ts";

const patienceMs = 2000;

/** What `GET /readyz` says, as far as it is told here. */
interface Readiness {
  status: string;
  troubles: string[];
  degraded: string[];
}

export const health = defineCommand({
  name: "health",
  about: "Ask the gateway that runs on HOST and PORT whether it can serve; exit 1 when not",
  flags: {},
  args: [],
  example: "health",
  async run(_ground, { config }) {
    if (config.port === 0) throw new UsageError("Cannot ask on port 0: set PORT to the port that the gateway has");
    const origin = getPublicOrigin({ host: config.host, publicUrl: undefined }, config.port);
    const found = await readyOf(origin);
    if (typeof found === "string") return { json: { status: "unreachable", reason: found }, text: found, exitCode: 1 };
    const { status, troubles, degraded } = found;
    const text = [`${origin} is ${status}`, ...troubles, ...degraded].join("\n");
    return { json: found, text, exitCode: status === "unready" ? 1 : 0 };
  },
});

/** Its answer, or a sentence why there is none. */
async function readyOf(origin: string): Promise<Readiness | string> {
  try {
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(patienceMs) });
    const { status, troubles, degraded } = (await response.json()) as Readiness;
    return { status, troubles, degraded };
  } catch (error) {
    return `Cannot reach ${origin}/readyz: ${(error as Error).message}`;
  }
}
