import { createHash } from "node:crypto";

/** A script of Redis, called by its hash. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Time is Redis's own unless the first argument gives one, so that all nodes share one clock. */
const clock = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
`;

export function defineScript(body: string): Script {
  const text = `${clock}${body}`.trim();
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}
